import { Injectable } from '@nestjs/common';
import {
  incidentsSchema,
  type ErrorExcerpt,
  type IncidentUpload,
  type Incidents,
} from '@tollgate/contracts';
import { IncidentReports } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { Housekeeping } from '../../platform/housekeeping/housekeeping.ts';
import { parseJson } from '../../platform/parse-json.ts';
import { KeyOwners } from '../keys/key-owners.ts';
import { nameRecords, type RecordName, type RecordRef } from '../names/record-names.sql.ts';
import { NodeRegistry } from '../proxy-nodes/node-registry.ts';
import { uuidTimeMs } from '../usage/ingest/read-event.ts';
import { INCIDENTS_KEPT_MS, IncidentStore, type OwnedIncidents } from './incidents.sql.ts';

const LOOK_MS = 1_000;
const REPORTS_AT_ONCE = 32;
/** Reports wait in Redis while no control plane runs. An older report, or one with a time in the future, would not be deleted in time. */
const AGE_MAX_MS = 24 * 3_600_000;

/** Takes the incidents that nodes report out of Redis and stores those whose proof is valid. Every replica does so; one of them takes each report. */
@Injectable()
export class IncidentIntake extends BackgroundService {
  constructor(
    private readonly reports: IncidentReports,
    private readonly registry: NodeRegistry,
    private readonly store: IncidentStore,
    private readonly owners: KeyOwners,
    private readonly dataSource: DataSource,
    housekeeping: Housekeeping,
  ) {
    super({
      name: 'incidents',
      everyMs: LOOK_MS,
      failing: 'incidents cannot be read; trying again',
    });
    housekeeping.add('forgetting old incidents', () => this.forgetOld());
  }

  forgetOld(): Promise<void> {
    return this.store.forget(new Date(Date.now() - INCIDENTS_KEPT_MS));
  }

  async runOnce(): Promise<void> {
    for (const upload of await this.reports.take(REPORTS_AT_ONCE)) await this.take(upload);
  }

  private async take(upload: IncidentUpload): Promise<void> {
    const incidents = incidentsSchema.safeParse(parseJson(upload.body)).data;
    if (!incidents || !isNear(upload.atMs)) return;
    const isProven = await this.registry.isUploadProven({ ...upload, purpose: 'incidents' });
    if (isProven) await this.store.keep(upload.node, await this.owned(nearOnly(incidents)));
  }

  private async owned({ refused, counts, excerpts }: Incidents): Promise<OwnedIncidents> {
    const hashes = [...refused, ...counts].flatMap(({ key_hashes: each }) => each);
    const owners = await this.owners.of([...new Set(hashes)]);
    const withOwner = <Row extends { key_hashes: string[] }>({ key_hashes: own, ...row }: Row) => {
      // Clients often send a stale key with a good one, and the stale key may come first.
      const owner = own.map((hash) => owners.get(hash)).find((known) => known !== undefined);
      return { ...row, key_id: owner?.keyId ?? 0, user_id: owner?.userId ?? null };
    };
    const accounts = await nameRecords(this.dataSource, excerpts.map(accountOf));
    return {
      refused: refused.map(withOwner),
      counts: counts.map(withOwner),
      excerpts: excerpts.filter((excerpt) => isThere(accounts(accountOf(excerpt)))),
    };
  }
}

function accountOf({ account_id: id }: ErrorExcerpt): RecordRef {
  return { kind: 'user', id: String(id) };
}

/** Returns whether the account exists. A deleted account may have been erased. */
function isThere({ name, isGone }: RecordName): boolean {
  return name !== null && !isGone;
}

/** Drops incidents whose time is far from the report's. The time in a request id decides its place among others, so it must be correct. */
function nearOnly({ refused, counts, excerpts }: Incidents): Incidents {
  return {
    refused: refused.filter(({ rid, at }) => isNear(at) && isNear(uuidTimeMs(rid))),
    counts: counts.filter(({ minute }) => isNear(minute)),
    excerpts: excerpts.filter(({ at }) => isNear(at)),
  };
}

function isNear(unixMs: number): boolean {
  return Math.abs(Date.now() - unixMs) <= AGE_MAX_MS;
}
