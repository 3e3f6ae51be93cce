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
const FORGERY = { rule: 'redis_tampered', subject: 'usage' } as const;

export interface JudgedFinals {
  /** Holds everything else: withdrawals, which Redis' own functions make, and what cannot be read. */
  believed: RelayedEvent[];
  /** Holds the finals of nodes, which wait for an acknowledgement of them. */
  finals: RelayedEvent[];
  forged: { relayed: RelayedEvent; reason: string }[];
}

/**
 * Distinguishes the finals that nodes wrote, and the reaps of holds that nodes took, from forged ones in Redis. Each must be signed with its node's credential:
 * the node's own, or the fleet's where it has none.
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
    const known = signers.get(event.node) ?? [];
    const unixMs = this.host.unixMs();
    const hashes =
      known.length === 0
        ? this.fleetHashes
        : known
            .filter((signer) => isRecent(signer, unixMs))
            .flatMap(({ credentialHashes }) => credentialHashes);
    return hashes.some((hash) => event.isSignedBy(hash))
      ? null
      : `forged: it is not signed by node ${event.node}`;
  }

  private async known(ageMaxMs: number): Promise<Map<string, Signer[]>> {
    const nowMs = this.host.monotonicMs();
    if (this.signers && nowMs - this.signers.readAtMs < ageMaxMs) return this.signers.byName;
    const byName = await readSigners(this.dataSource, this.fleetHashes);
    this.signers = { readAtMs: nowMs, byName };
    return byName;
  }
}

function isRecent({ deletedAtMs }: Signer, unixMs: number): boolean {
  return deletedAtMs === null || unixMs - deletedAtMs < DELETED_MS;
}
