import type { FleetMessage } from '@tollgate/contracts';
import type { Logger } from 'pino';
import type { SnapshotFollower } from '../snapshot/snapshot-follower.ts';
import type { RestMessage } from '../upstream/rest-news.ts';
import type { NodeReporter } from './node-reporter.ts';

export interface FleetListenerParts {
  name: string;
  follower: SnapshotFollower;
  reporter: NodeReporter;
  dump: (request: Extract<FleetMessage, { kind: 'dump' }>) => Promise<void>;
  /** Ends a request of this worker; `mac` proves that a control plane asks for it. */
  endRequest: (request: { rid: string; mac: string }) => void;
  /** Everything that is cached of this API key is out of date. */
  keyChanged: (keyHash: string) => void;
  subscriptionChanged: (subscription: { accountId: number; modelId: number }) => void;
  /** A shard that had lost its data is full again. */
  shardFilled: (shard: string, epoch: string) => void;
  /** Another worker has seen a route fail, or answer again. */
  rest: (message: RestMessage) => void;
  log: Logger;
}

/** Handles each message to the fleet. The periodic pull and report compensate for a lost one. */
export function fleetListener(parts: FleetListenerParts): (message: FleetMessage) => void {
  const { name, follower, reporter } = parts;
  return (message) => {
    switch (message.kind) {
      case 'snapshot':
        // The worker reports also when there was nothing new to apply, because the control plane that announced it waits for the report.
        return void follower.pull().then(() => reporter.report());
      case 'reload':
        if (message.node === null || message.node === name) void follower.reload();
        return;
      case 'desired':
        if (message.node === name) void reporter.report();
        return;
      case 'key_changed':
        return parts.keyChanged(message.key_hash);
      case 'subscription_changed':
        return parts.subscriptionChanged({
          accountId: message.account_id,
          modelId: message.model_id,
        });
      case 'shard_filled':
        return parts.shardFilled(message.shard, message.epoch);
      case 'rest':
      case 'recovered':
      case 'account_rest':
      case 'account_recovered':
        return parts.rest(message);
      case 'end_request':
        return parts.endRequest(message);
      case 'dump':
        if (message.node === null || message.node === name)
          parts.dump(message).catch(noteUnwritten(parts.log));
        return;
    }
  };
}

function noteUnwritten(log: Logger): (error: unknown) => void {
  return (error) => log.warn({ err: error }, 'the dump could not be written');
}
