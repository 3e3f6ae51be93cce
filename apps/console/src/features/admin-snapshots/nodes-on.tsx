import { useQuery } from '@tanstack/react-query';
import { nodesQuery } from '../../api/fleet.ts';
import { useLive } from '../../api/events/stream.ts';
import { paths } from '../../paths.ts';
import { TextLink } from '../../ui/forms/button.tsx';
import { Panel } from '../../ui/page.tsx';
import { useWords } from '../../words/words.ts';
import { useLags, useNewest } from '../admin-nodes/lag.ts';
import { NodeState } from '../admin-nodes/node-state.tsx';
import { NodeVersion } from '../admin-nodes/node-version.tsx';

/** Lists the nodes that run a version. */
export function NodesOn({ version }: { version: number }) {
  const { data } = useQuery({ ...nodesQuery, ...useLive() });
  const nodes = (data?.data ?? []).filter((node) => node.version === version);
  return (
    <span className="flex flex-wrap gap-x-3 gap-y-1">
      {nodes.map(({ id, name }) => (
        <TextLink key={id} to={paths.adminNode(name)} className="foreign">
          {name}
        </TextLink>
      ))}
    </span>
  );
}

/** Lists the nodes that do not run the newest version, each with the reason; nothing where there are none. */
export function NodesBehind() {
  const { admin } = useWords();
  const { data } = useQuery({ ...nodesQuery, ...useLive() });
  const nodes = data?.data ?? [];
  const newest = useNewest(nodes);
  const lagsOf = useLags();
  const behind = nodes.filter(({ version }) => version !== null && version < newest);
  if (behind.length === 0) return null;
  return (
    <Panel title={admin.findings.behindTitle}>
      <ul className="flex flex-col gap-2">
        {behind.map((node) => (
          <li key={node.id} className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <TextLink to={paths.adminNode(node.name)} className="foreign">
              {node.name}
            </TextLink>
            <NodeState of={node} />
            <NodeVersion version={node.version} newest={newest} />
            <span className="foreign text-text-2">{lagsOf(node, newest).join(' · ')}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
