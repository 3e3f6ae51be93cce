import { Inject, Injectable, Optional } from '@nestjs/common';
import { isFinalSigned, splitFinal, type RelayedEvent } from '@tollgate/contracts';
import { InvalidKeyPart, parseNodeAddress } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { CONFIG, type Config } from '../../config.ts';
import { Host } from '../../platform/host/host.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { acceptedHashes, fleetCredentialHashes, OWN_CREDENTIALS } from './node-credentials.ts';

/** What is known of the nodes is read again after this long, and at once when a final is doubted. */
const KNOWN_MS = 1_000;
/** What a deleted node sent before is still on its way. */
const DELETED_MS = 10 * 60_000;
/** Finals without a MAC that began before their node's software was replaced, and wait in a backlog. */
const UNSIGNED_MS = 24 * 3_600_000;
/** Between a node's clock and PostgreSQL's. */
const CLOCK_SLACK_MS = 5 * 60_000;

/** The alert of forged finals closes after this long without one. */
const ALERTED_MS = 3_600_000;
const FORGERY = { rule: 'redis_tampered', subject: 'usage' } as const;

const signerRow = z.object({
  name: z.string(),
  credential_hashes: z.array(z.string()),
  signs_finals_since: z.date().nullable(),
  deleted_at: z.date().nullable(),
});
const finalOf = z.object({ kind: z.literal('usage'), node: z.string() });

interface Signer {
  credentialHashes: readonly string[];
  signsSinceMs: number | null;
  deletedAtMs: number | null;
}

export interface JudgedFinals {
  /** Everything else: events of Redis' own functions, and what cannot be read. */
  believed: RelayedEvent[];
  /** Their nodes wait for an acknowledgement of them. */
  finals: RelayedEvent[];
  forged: { relayed: RelayedEvent; reason: string }[];
}

/**
 * Distinguishes the finals that nodes wrote from forged ones in Redis. A final with a MAC must be signed with its node's credential:
 * the node's own, or the fleet's where it has none. One without is believed only of a registered node that does not sign yet, by its last proven
 * report, or that began before it did, at most a day ago.
 */
@Injectable()
export class FinalProofs {
  private readonly fleetHashes: readonly string[];
  /** An earlier process may have seen one just before its end. */
  private forgedAtMs: number | null;
  private signers: { readAtMs: number; byName: Map<string, Signer[]> } | null = null;

  constructor(
    private readonly dataSource: DataSource,
    private readonly alerts: AlertsService,
    @Inject(CONFIG) config: Pick<Config, 'FLEET_CREDENTIAL' | 'FLEET_CREDENTIAL_NEXT'>,
    @Optional() private readonly host: Host = new Host(),
  ) {
    this.forgedAtMs = host.monotonicMs();
    this.fleetHashes = fleetCredentialHashes(config);
  }

  async judge(events: readonly RelayedEvent[]): Promise<JudgedFinals> {
    const nodes = events.map(nodeOf);
    const faultsBy = (signers: Map<string, Signer[]>): (string | null)[] =>
      events.map((event, index) => this.faultOf(event, nodes[index] ?? null, signers));
    let faults = faultsBy(await this.known(KNOWN_MS));
    if (faults.some((fault) => fault !== null)) faults = faultsBy(await this.known(0));
    const judged: JudgedFinals = { believed: [], finals: [], forged: [] };
    events.forEach((relayed, index) => {
      const reason = faults[index] ?? null;
      if (reason !== null) judged.forged.push({ relayed, reason });
      else judged.believed.push(relayed);
      if (reason === null && nodes[index] !== null) judged.finals.push(relayed);
    });
    await this.tell(judged.forged);
    return judged;
  }

  private async tell(forged: JudgedFinals['forged']): Promise<void> {
    const { manager } = this.dataSource;
    const [first] = forged;
    if (first) {
      this.forgedAtMs = this.host.monotonicMs();
      const message = `${forged.length} usage events in Redis are not of the nodes they name; they wait as dead letters, e.g.: ${first.reason}`;
      await this.alerts.raise(manager, { ...FORGERY, message });
    } else if (this.forgedAtMs !== null && this.host.monotonicMs() - this.forgedAtMs > ALERTED_MS) {
      this.forgedAtMs = null;
      await this.alerts.resolve(manager, FORGERY);
    }
  }

  private faultOf(
    relayed: RelayedEvent,
    node: string | null,
    signers: Map<string, Signer[]>,
  ): string | null {
    if (node === null) return null;
    const { payload, mac } = splitFinal(relayed.payload);
    const known = signers.get(node) ?? [];
    const unixMs = this.host.unixMs();
    if (mac === null) return unsignedFault(relayed, node, { known, unixMs });
    const hashes =
      known.length === 0
        ? this.fleetHashes
        : known
            .filter((signer) => isRecent(signer, unixMs))
            .flatMap(({ credentialHashes }) => credentialHashes);
    return hashes.some((hash) => isFinalSigned({ rid: relayed.rid, payload, mac }, hash))
      ? null
      : `forged: it is not signed by node ${node}`;
  }

  private async known(ageMaxMs: number): Promise<Map<string, Signer[]>> {
    const nowMs = this.host.monotonicMs();
    if (this.signers && nowMs - this.signers.readAtMs < ageMaxMs) return this.signers.byName;
    const rows: unknown[] = await this.dataSource.query(
      `SELECT name, ${OWN_CREDENTIALS} AS credential_hashes, signs_finals_since, deleted_at FROM proxy_nodes`,
    );
    const byName = new Map<string, Signer[]>();
    for (const row of rows.map((raw) => signerRow.parse(raw)))
      byName.set(row.name, [
        ...(byName.get(row.name) ?? []),
        {
          credentialHashes: acceptedHashes(row.credential_hashes, this.fleetHashes),
          signsSinceMs: row.signs_finals_since?.getTime() ?? null,
          deletedAtMs: row.deleted_at?.getTime() ?? null,
        },
      ]);
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
  const beganAtMs = Number.parseInt(rid.slice(0, 8) + rid.slice(9, 13), 16);
  const isOfOldRelease =
    beganAtMs < signsSinceMs + CLOCK_SLACK_MS && unixMs < signsSinceMs + UNSIGNED_MS;
  return isOfOldRelease ? null : `forged: it is not signed, and node ${node} signs its finals`;
}

function isRecent({ deletedAtMs }: Signer, unixMs: number): boolean {
  return deletedAtMs === null || unixMs - deletedAtMs < DELETED_MS;
}

/** The name of the node a final says it is of; null for all that is not a final. */
function nodeOf({ payload }: RelayedEvent): string | null {
  try {
    const final = finalOf.safeParse(JSON.parse(payload));
    return final.success ? parseNodeAddress(final.data.node).name : null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof InvalidKeyPart) return null;
    throw error;
  }
}
