import { useQuery } from '@tanstack/react-query';
import { useLocation, useParams } from '@tanstack/react-router';
import { AdminRefusal } from '@tollgate/admin-client';
import { refusedRequestQuery } from '../../api/incidents.ts';
import { receiptQuery, type UsageReceipt } from '../../api/usage.ts';
import { paths } from '../../paths.ts';
import { TextLink } from '../../ui/forms/button.tsx';
import { CopyText } from '../../ui/copy.tsx';
import { Facts, Page as Frame, Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Exact } from '../../ui/time/time.tsx';
import { useWords, type Words } from '../../words/words.ts';
import { OutcomeBadge } from './outcome.tsx';
import { ChargeTable } from './charge-table.tsx';
import { RefusedFacts } from './refused-facts.tsx';
import { RequestTimeline } from './request-timeline.tsx';
import { UpstreamErrors } from './upstream-errors.tsx';

const WAIT_MS = 2_000;

/** Shows one request: how it went, when, and why it cost what it cost. A request that still runs appears once it is booked. */
export function Page() {
  const { request, usage } = useWords();
  const { rid = '' } = useParams({ strict: false });
  const { pathname } = useLocation();
  const list = pathname.startsWith(paths.admin()) ? paths.adminUsage() : paths.usage();
  const refused = useQuery(refusedRequestQuery(rid));
  const receipt = useQuery({
    ...receiptQuery(rid),
    // A refused request has no receipt.
    enabled: refused.isFetched && !refused.data,
    refetchInterval: ({ state }) => (isMissing(state.error) ? WAIT_MS : false),
  });
  return (
    <Frame title={request.title} parent={{ to: list, label: usage.title }}>
      {refused.data ? (
        <RefusedFacts of={refused.data} />
      ) : isMissing(receipt.error) ? (
        <Unbooked rid={rid} />
      ) : (
        <Loaded of={receipt}>{(found) => <Receipt of={found} />}</Loaded>
      )}
    </Frame>
  );
}

function Unbooked({ rid }: { rid: string }) {
  const { request } = useWords();
  return (
    <Panel>
      <p role="status">{request.notBooked}</p>
      <p className="mt-2">
        <CopyText text={rid} label={request.title} />
      </p>
    </Panel>
  );
}

function isMissing(error: unknown): boolean {
  return error instanceof AdminRefusal && error.status === 404;
}

function Receipt({ of: receipt }: { of: UsageReceipt }) {
  const { request, general, tables } = useWords();
  const { rid, outcome } = receipt;
  return (
    <>
      <Panel>
        <ReceiptFacts of={receipt} />
        <p className="mt-3 flex flex-wrap items-center gap-x-2 border-t border-line pt-3 text-table text-text-3">
          {general.requestId} <CopyText text={rid} label={general.requestId} />
        </p>
        {outcome !== null && outcome !== 'completed' && (
          <p className="mt-1 text-text-2">{tables.outcomes[outcome].says}</p>
        )}
      </Panel>
      <Panel title={request.timeline}>
        <RequestTimeline of={receipt} />
      </Panel>
      <UpstreamErrors of={receipt} />
      <Panel title={request.charge} isFlush>
        <ChargeTable of={receipt} />
      </Panel>
      <Panel title={request.raw}>
        <details>
          <summary className="cursor-pointer rounded-sm text-text-2">{general.details}</summary>
          <pre
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is reachable by keyboard
            tabIndex={0}
            className="foreign mt-3 max-h-96 overflow-auto rounded-md bg-sunken p-3 whitespace-pre-wrap"
          >
            {JSON.stringify(receipt, null, 2)}
          </pre>
        </details>
      </Panel>
    </>
  );
}

interface Part {
  name: string;
  text: string | null;
  /** Is the page of it that the reader may open. */
  to?: string | undefined;
}

/** Lists the parts of the request; administrators also see whose it was and who served it. */
function usePartsOf(receipt: UsageReceipt): Part[] {
  const { usage } = useWords();
  const isAdmin = useLocation().pathname.startsWith(paths.admin());
  const { key_id: keyId, model_id: modelId } = receipt;
  return [
    ...(isAdmin
      ? [
          {
            name: usage.user,
            text: receipt.username ?? String(receipt.user_id),
            to: paths.adminUser(receipt.user_id),
          },
        ]
      : []),
    {
      name: usage.model,
      text: receipt.model,
      to: isAdmin ? paths.adminModel(modelId) : paths.model(modelId),
    },
    {
      name: usage.key,
      text: receipt.key_name,
      to: pageOf(keyId, isAdmin ? paths.adminKey : paths.key),
    },
    ...serversOf(receipt, { usage, isAdmin }),
  ];
}

/** Returns the upstream and the node that served it. The interface shows users the name of the upstream at most. */
function serversOf(
  { upstream_id: upstreamId, upstream, node }: UsageReceipt,
  { usage, isAdmin }: { usage: Words['usage']; isAdmin: boolean },
): Part[] {
  if (!isAdmin) return upstream === null ? [] : [{ name: usage.upstream, text: upstream }];
  return [
    { name: usage.upstream, text: upstream, to: pageOf(upstreamId, paths.adminUpstream) },
    {
      name: usage.node,
      text: node,
      // `node-1:0` is a worker of `node-1`.
      to: node === null ? undefined : paths.adminNode(node.replace(/:\d+$/, '')),
    },
  ];
}

function pageOf(id: number | null, path: (id: number) => string): string | undefined {
  return id === null ? undefined : path(id);
}

function ReceiptFacts({ of: receipt }: { of: UsageReceipt }) {
  const { request, usage, general } = useWords();
  const parts = usePartsOf(receipt);
  return (
    <Facts
      facts={[
        { name: usage.outcome, value: <OutcomeBadge of={receipt} />, isWide: true },
        { name: usage.when, value: <Exact at={receipt.started_at} />, isWide: true },
        ...parts.map(({ name, text, to }) => ({
          name,
          value:
            text === null ? '–' : to === undefined ? text : <TextLink to={to}>{text}</TextLink>,
        })),
        { name: request.protocol, value: receipt.protocol ?? '–' },
        {
          name: request.stream,
          value: receipt.is_stream === true ? general.yes : general.no,
        },
      ]}
    />
  );
}
