import { useQuery } from '@tanstack/react-query';
import { upstreamErrorsQuery, type UpstreamError } from '../../api/incidents.ts';
import { useMe } from '../../api/session.ts';
import type { UsageReceipt } from '../../api/usage.ts';
import { Badge } from '../../ui/badge.tsx';
import { Panel } from '../../ui/page.tsx';
import { useWords } from '../../words/words.ts';

/** Shows administrators what the upstreams of a request answered in place of an answer. */
export function UpstreamErrors({ of: { rid, route } }: { of: UsageReceipt }) {
  const { request } = useWords();
  const isAdmin = useMe().role === 'admin';
  const hasFailed = route.some(({ status }) => status !== undefined && status >= 300);
  const errors = useQuery({ ...upstreamErrorsQuery(rid), enabled: isAdmin && hasFailed });
  if (!isAdmin || !hasFailed || !errors.data) return null;
  const { data } = errors.data;
  return (
    <Panel title={request.upstreamErrors}>
      {data.length === 0 ? (
        <p className="text-text-2">{request.noExcerpt}</p>
      ) : (
        <ul className="flex flex-col gap-3">
          {data.toReversed().map((error) => (
            <Excerpt key={error.place} of={error} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Excerpt({ of: { upstream, upstream_id: id, status, excerpt } }: { of: UpstreamError }) {
  const { request, usage } = useWords();
  const name = upstream ?? usage.unknownName(String(id));
  return (
    <li>
      <p className="flex items-center gap-2">
        <span className="foreign">{name}</span>
        <Badge tone="bad">{request.answered(String(status))}</Badge>
      </p>
      <pre
        // A region that scrolls must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        role="region"
        aria-label={`${request.upstreamErrors}: ${name}`}
        className="foreign mt-1.5 max-h-60 overflow-auto rounded-md bg-sunken p-3 text-code whitespace-pre-wrap"
      >
        {excerpt}
      </pre>
    </li>
  );
}
