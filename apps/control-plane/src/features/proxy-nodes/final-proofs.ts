import { Inject, Injectable, Optional } from '@nestjs/common';
import type { RelayedEvent } from '@tollgate/contracts';
import { DataSource } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { Host } from '../../platform/host/host.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { fleetCredentialHashes } from './node-credentials.ts';
import { readSigners, type Signer } from './signers.sql.ts';
import { signedEvent, type SignedEvent } from './signed-events.ts';

/** The nodes' facts are read again after this time, and at once when a final is doubted. */
const KNOWN_MS = 1_000;
/** Usage that a deleted node sent before may still be on its way. */
const DELETED_MS = 10 * 60_000;
/** Events without a MAC whose requests began before their node's software was replaced, and wait in a backlog. */
const UNSIGNED_MS = 24 * 3_600_000;
/** Between a node's registration and the report by which it signs: one that took so long may have run an earlier release before. */
const FIRST_REPORT_MS = 10_000;
/** Between a node's clock and PostgreSQL's. */
const CLOCK_SLACK_MS = 5 * 60_000;

const FORGERY = { rule: 'redis_tampered', subject: 'usage' } as const;

export interface JudgedFinals {
  /** Everything else: withdrawals, which Redis' own functions make, and what cannot be read. */
  believed: RelayedEvent[];
  /** Their nodes wait for an acknowledgement of them. */
  finals: RelayedEvent[];
  forged: { relayed: RelayedEvent; reason: string }[];
}

/**
 * Distinguishes the finals that nodes wrote, and the reaps of holds that nodes took, from forged ones in Redis. An event with a MAC must be signed with its node's credential:
 * the node's own, or the fleet's where it has none. A final without is believed only of a registered node that does not sign yet, by its last proven
 * report, or that began before it did, at most a day ago. A reap is written by whichever node relays, so one without is believed while any node
 * that was heard within a day, removed since or not, does not sign its holds, and of requests from before the last of those that had an earlier release did.
 */
@Injectable()
export class FinalProofs {
  private readonly fleetHashes: readonly string[];
  private signers: { readAtMs: number; byName: Map<string, Signer[]> } | null = null;

  constructor(
    private readonly dataSource: DataSource,
    private readonly alerts: AlertsService,
    @Inject(CONFIG) config: Pick<Config, 'FLEET_CREDENTIAL' | 'FLEET_CREDENTIAL_NEXT'>,
    @Optional() private readonly host: Host = new Host(),
  ) {
    this.fleetHashes = fleetCredentialHashes(config);
  }

  async judge(events: readonly RelayedEvent[]): Promise<JudgedFinals> {
    const signed = events.map((event) => signedEvent(event));
    const faultsBy = (signers: Map<string, Signer[]>): (string | null)[] =>
      signed.map((event) => event && this.faultOf(event, signers));
    let faults = faultsBy(await this.known(KNOWN_MS));
    if (faults.some((fault) => fault !== null)) faults = faultsBy(await this.known(0));
    const judged: JudgedFinals = { believed: [], finals: [], forged: [] };
    events.forEach((relayed, index) => {
      const reason = faults[index] ?? null;
      if (reason !== null) judged.forged.push({ relayed, reason });
      else judged.believed.push(relayed);
      if (reason === null && signed[index]?.kind === 'usage') judged.finals.push(relayed);
    });
    await this.tell(judged.forged);
    return judged;
  }

  private async tell(forged: JudgedFinals['forged']): Promise<void> {
    const [first] = forged;
    if (!first) return;
    const message = `${forged.length} usage events in Redis are not of the nodes they name; they wait as dead letters, e.g.: ${first.reason}`;
    const detail = { kind: 'usage', events: forged.length, reason: first.reason } as const;
    await this.alerts.raise(this.dataSource.manager, { ...FORGERY, message, detail });
  }

  private faultOf(event: SignedEvent, signers: Map<string, Signer[]>): string | null {
    const { kind, node, relayed } = event;
    const known = signers.get(node) ?? [];
    const unixMs = this.host.unixMs();
    if (event.mac === null)
      return kind === 'usage'
        ? unsignedFault(relayed, node, { known, unixMs })
        : unsignedReapFault(relayed, { signers: [...signers.values()].flat(), unixMs });
    const hashes =
      known.length === 0
        ? this.fleetHashes
        : known
            .filter((signer) => isRecent(signer, unixMs))
            .flatMap(({ credentialHashes }) => credentialHashes);
    return hashes.some((hash) => event.isSignedBy(hash))
      ? null
      : `forged: it is not signed by node ${node}`;
  }

  private async known(ageMaxMs: number): Promise<Map<string, Signer[]>> {
    const nowMs = this.host.monotonicMs();
    if (this.signers && nowMs - this.signers.readAtMs < ageMaxMs) return this.signers.byName;
    const byName = await readSigners(this.dataSource, this.fleetHashes);
    this.signers = { readAtMs: nowMs, byName };
    return byName;
  }
}

function unsignedFault(
  { rid }: RelayedEvent,
  node: string,
  { known, unixMs }: { known: readonly Signer[]; unixMs: number },
) {
  const registered = known.find(({ deletedAtMs }) => deletedAtMs === null);
  if (!registered) return `forged: it is not signed, and node ${node} is not registered`;
  const { signsSinceMs } = registered;
  if (signsSinceMs === null) return null;
  return isOfOldRelease(rid, signsSinceMs, unixMs)
    ? null
    : `forged: it is not signed, and node ${node} signs its finals`;
}

/** A node that was not heard for a day has neither holds nor a part in the relay, and one that signed from its first report on never had holds without a MAC. */
function unsignedReapFault(
  { rid }: RelayedEvent,
  { signers, unixMs }: { signers: readonly Signer[]; unixMs: number },
): string | null {
  const since = signers
    .filter(({ seenAtMs }) => seenAtMs !== null && unixMs - seenAtMs < UNSIGNED_MS)
    .filter(
      ({ signsHoldsSinceMs, registeredAtMs }) =>
        (signsHoldsSinceMs ?? unixMs) - registeredAtMs > FIRST_REPORT_MS,
    )
    .map(({ signsHoldsSinceMs }) => signsHoldsSinceMs ?? Infinity);
  const isAccepted =
    since.length > 0 &&
    (since.includes(Infinity) || isOfOldRelease(rid, Math.max(...since), unixMs));
  return isAccepted ? null : 'forged: the reap is not signed, and all nodes sign their holds';
}

function isOfOldRelease(rid: string, signsSinceMs: number, unixMs: number): boolean {
  const beganAtMs = Number.parseInt(rid.slice(0, 8) + rid.slice(9, 13), 16);
  return beganAtMs < signsSinceMs + CLOCK_SLACK_MS && unixMs < signsSinceMs + UNSIGNED_MS;
}

function isRecent({ deletedAtMs }: Signer, unixMs: number): boolean {
  return deletedAtMs === null || unixMs - deletedAtMs < DELETED_MS;
}
