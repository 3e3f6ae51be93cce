import { Injectable, Logger, Optional } from '@nestjs/common';
import {
  journalUploadSchema,
  type JournalReceipt,
  type JournalUpload,
  type RelayedEvent,
} from '@tollgate/contracts';
import { z } from 'zod';
import { Host } from '../../../platform/host/host.ts';
import { Refusal } from '../../../platform/http/refusal.ts';
import { ShardEpochs } from '../../epochs/shard-epochs.sql.ts';
import { NodeRegistry } from '../../proxy-nodes/node-registry.ts';
import { BookedFigures } from '../ingest/booked-figures.ts';
import { UsageIngest } from '../ingest/usage-ingest.service.ts';

/** An older proof is refused. Repeating a younger one books nothing twice. */
const PROOF_AGE_MAX_MS = 5 * 60_000;

/** Reads the fields that number an event. The rest is judged like any other event. */
const chargedSchema = z.object({ account_id: z.number().int().positive(), charge: z.number() });

export interface ProvenUpload {
  /** Is the worker's address as `<name>:<worker>`. */
  node: string;
  atMs: number;
  proof: string;
  body: Buffer;
}

/** Books finals that Redis can no longer take: it lost the data that they refer to, or they are older than its memory of settlements. */
@Injectable()
export class JournalService {
  private readonly logger = new Logger('journal');

  constructor(
    private readonly nodes: NodeRegistry,
    private readonly epochs: ShardEpochs,
    private readonly usage: UsageIngest,
    private readonly figures: BookedFigures,
    @Optional() private readonly host: Host = new Host(),
  ) {}

  /** Returns the ids of requests that are booked now, dead letters included. The call is idempotent. */
  async take(upload: ProvenUpload): Promise<JournalReceipt> {
    const isYoung = Math.abs(this.host.unixMs() - upload.atMs) <= PROOF_AGE_MAX_MS;
    if (!isYoung || !(await this.nodes.isUploadProven(upload)))
      throw new Refusal('unauthenticated');
    const { finals } = this.read(upload.body);
    const shards = Map.groupBy(finals, ({ payload }) => this.shardOf(payload));
    let isNew = 0;
    for (const ofShard of shards.values()) {
      const booked = await this.usage.ingest(ofShard.map(toEvent), { fromJournal: true });
      this.figures.note(booked);
      isNew += booked.length;
    }
    this.logger.log(
      `${upload.node} handed over ${finals.length} finals; ${isNew} were not booked before`,
    );
    return { booked: finals.map(({ rid }) => rid) };
  }

  private read(body: Buffer): JournalUpload {
    try {
      return journalUploadSchema.parse(JSON.parse(body.toString('utf8')));
    } catch {
      throw new Refusal('invalid_request', { detail: 'The body is not a journal upload.' });
    }
  }

  private shardOf(payload: string): string {
    const charged = chargedOf(payload);
    return charged === undefined ? '' : this.epochs.shardOf(charged.account_id);
  }
}

/** Numbers the event as the first charge, without an outbox. */
function toEvent({ rid, payload }: JournalUpload['finals'][number]): RelayedEvent {
  return {
    shard: '',
    epoch: '',
    outboxId: '',
    rid,
    seq: '0',
    delta: String(chargedOf(payload)?.charge ?? ''),
    payload,
  };
}

function chargedOf(payload: string): z.output<typeof chargedSchema> | undefined {
  try {
    return chargedSchema.safeParse(JSON.parse(payload)).data;
  } catch {
    return undefined;
  }
}
