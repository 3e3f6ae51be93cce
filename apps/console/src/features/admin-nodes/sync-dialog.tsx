import { useMutation, useQuery } from '@tanstack/react-query';
import { CircleCheck, CircleDashed } from '../../ui/icons.tsx';
import { useEffect, useState } from 'react';
import { nodesQuery, publish, type ProxyNode } from '../../api/fleet.ts';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { formatCount, formatDuration } from '../../ui/format.ts';
import { FailureState, Skeleton } from '../../ui/states.tsx';
import { useSpeech, type Speech } from '../../words/words.ts';
import { NodeState } from './node-state.tsx';

/** Is often enough to see each acknowledgement arrive by itself. */
const LOOK_MS = 250;

/** Publishes, then shows each node's acknowledgement as it arrives. */
export function SyncDialog({ onClose }: { onClose: () => void }) {
  const { words, locale } = useSpeech();
  const { nodes } = words.admin;
  const { mutate, data, error } = useMutation({
    mutationFn: async () => {
      const startedAt = Date.now();
      return { ...(await publish()), startedAt };
    },
  });
  useEffect(() => mutate(), [mutate]);
  return (
    <Dialog
      title={nodes.syncTitle}
      purpose={data ? nodes.syncText(formatCount(data.version, locale)) : undefined}
      isOpen
      onClose={onClose}
    >
      {() =>
        data ? (
          <Acknowledgements version={data.version} startedAt={data.startedAt} />
        ) : error ? (
          <FailureState error={error} onRetry={() => mutate()} />
        ) : (
          <Skeleton />
        )
      }
    </Dialog>
  );
}

function Acknowledgements({ version, startedAt }: { version: number; startedAt: number }) {
  const { data } = useQuery({ ...nodesQuery, refetchInterval: LOOK_MS });
  return (
    <ul aria-live="polite" className="flex flex-col">
      {(data?.data ?? []).map((node) => (
        <Acknowledgement key={node.id} of={node} version={version} startedAt={startedAt} />
      ))}
    </ul>
  );
}

interface AcknowledgementProps {
  of: ProxyNode;
  version: number;
  startedAt: number;
}

function Acknowledgement({ of: node, version, startedAt }: AcknowledgementProps) {
  const speech = useSpeech();
  const [first] = useState(node.version ?? 0);
  const hasIt = (node.version ?? 0) >= version;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t border-line py-2 first:border-t-0">
      {hasIt ? (
        <CircleCheck aria-hidden className="size-4 text-good" />
      ) : (
        <CircleDashed aria-hidden className="size-4 text-text-3" />
      )}
      <span className="foreign min-w-16 font-medium">{node.name}</span>
      <NodeState of={node} />
      <span className="foreign ml-auto text-table text-text-2">
        {answerOf(node, { version, startedAt, first }, speech)}
      </span>
    </li>
  );
}

interface Awaited {
  version: number;
  startedAt: number;
  /** Is the version that the node had when the wait began. */
  first: number;
}

function answerOf(
  node: ProxyNode,
  { version, startedAt, first }: Awaited,
  { words, locale }: Speech,
): string {
  const { nodes } = words.admin;
  if ((node.version ?? 0) >= version) {
    if (first >= version || node.applied_at === null) return nodes.current;
    const waitedMs = Math.max(0, Date.parse(node.applied_at) - startedAt);
    return nodes.acknowledged(formatDuration(waitedMs, locale));
  }
  const refused = node.workers.find((worker) => worker.refused !== null)?.refused;
  if (refused !== undefined && refused !== null) return `${nodes.refused}: ${refused}`;
  return node.state === 'offline' ? nodes.notWaiting(nodes.states[node.state]) : nodes.waiting;
}
