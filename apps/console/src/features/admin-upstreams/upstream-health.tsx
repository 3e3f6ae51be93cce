import { useQuery } from '@tanstack/react-query';
import { nodesQuery, type ProxyNode } from '../../api/fleet.ts';
import { SLOWLY_LIVE } from '../../api/live.ts';
import { routingHealthQuery, type FailingUpstream } from '../../api/upstreams.ts';
import { paths } from '../../paths.ts';
import { Badge } from '../../ui/badge.tsx';
import { TextLink } from '../../ui/forms/button.tsx';
import { formatCount, formatDuration } from '../../ui/format.ts';
import { Freshness } from '../../ui/time/freshness.tsx';
import { Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Parts } from '../../ui/tables/parts.tsx';
import { useSpeech } from '../../words/words.ts';

/** A part has this many nodes. */
const PART = 10;

/** Shows what each node sees of an upstream. */
export function UpstreamHealth({ id }: { id: number }) {
  const { words } = useSpeech();
  const { upstreams } = words.admin;
  const health = useQuery({ ...routingHealthQuery, ...SLOWLY_LIVE });
  const { data: nodes } = useQuery(nodesQuery);
  const online = nodes?.data.filter(({ state }) => state !== 'offline') ?? [];
  return (
    <Panel title={upstreams.health} note={<Freshness of={health} />}>
      <Loaded of={health}>
        {({ failing }) =>
          online.length === 0 ? (
            <p className="text-text-2">{upstreams.noNodes}</p>
          ) : (
            <Parts of={online} size={PART}>
              {(part) => (
                <ul className="flex flex-col gap-2">
                  {part.map((node) => (
                    <NodeView
                      key={node.id}
                      of={node}
                      failing={failing.filter(
                        (one) => one.upstream_id === id && one.node === node.name,
                      )}
                    />
                  ))}
                </ul>
              )}
            </Parts>
          )
        }
      </Loaded>
    </Panel>
  );
}

function NodeView({ of: node, failing }: { of: ProxyNode; failing: readonly FailingUpstream[] }) {
  const { words, locale } = useSpeech();
  const { upstreams, routing } = words.admin;
  const restsMs = Math.max(0, ...failing.map(({ rests_for_ms: ms }) => ms));
  const accounts = Math.max(0, ...failing.map(({ accounts_resting: count }) => count));
  const failures = Math.max(0, ...failing.map(({ failures_in_row: count }) => count));
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <TextLink to={paths.adminNode(node.name)} className="foreign min-w-24">
        {node.name}
      </TextLink>
      {failures === 0 ? (
        <Badge tone="good">{upstreams.sound}</Badge>
      ) : (
        <Badge tone={restsMs > 0 ? 'bad' : 'warn'}>
          {restsMs > 0 ? routing.states.resting : routing.states.failing}
        </Badge>
      )}
      {failures > 0 && (
        <span className="text-text-2">{upstreams.failures(formatCount(failures, locale))}</span>
      )}
      {restsMs > 0 && (
        <span className="text-text-2">{upstreams.rests(formatDuration(restsMs, locale))}</span>
      )}
      {accounts > 0 && (
        <span className="text-text-2">
          {upstreams.restsForAccounts(formatCount(accounts, locale))}
        </span>
      )}
    </li>
  );
}
