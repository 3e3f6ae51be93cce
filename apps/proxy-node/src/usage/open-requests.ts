import type { BackgroundRun, OpenHold } from '../journal/open-hold.ts';
import { admittedLine, countsLine, type JournalledCounts } from '../journal/journal-line.ts';
import type { Journal } from '../journal/journal.ts';
import type { JournalPlace } from '../journal/live-places.ts';
import { LiveMap } from '../live-map.ts';

interface OpenRequest {
  hold: OpenHold;
  place: JournalPlace;
  counts: JournalledCounts | null;
}

type RequestJournal = Pick<
  Journal,
  'append' | 'appendLive' | 'flush' | 'giveRoom' | 'isWritable' | 'keepRoom' | 'release'
>;

/** Holds the requests that run on this node, each with its admission and its counts in the journal. */
export class OpenRequests {
  readonly #journal: RequestJournal;
  readonly #now: () => number;
  readonly #open = new LiveMap<string, OpenRequest>();

  constructor(journal: RequestJournal, now: () => number) {
    this.#journal = journal;
    this.#now = now;
  }

  get size(): number {
    return this.#open.size;
  }

  admit(hold: OpenHold): void {
    const place = this.#journal.appendLive(admittedLine(hold));
    this.#journal.keepRoom();
    this.#open.set(hold.rid, { hold, place, counts: null });
  }

  /** Returns the position of its admission in the journal, which is released when its final is there; undefined if it has ended earlier. */
  end(rid: string): JournalPlace | undefined {
    const request = this.#open.get(rid);
    if (this.#open.delete(rid)) this.#journal.giveRoom();
    return request?.place;
  }

  noteCounts(counts: Record<string, JournalledCounts>): void {
    for (const [rid, tokens] of Object.entries(counts)) {
      const request = this.#open.get(rid);
      if (request) request.counts = tokens;
    }
    // The last counts are kept above; a journal that cannot be written must not collect all earlier ones.
    if (this.#journal.isWritable) this.#journal.append(countsLine(this.#now(), counts));
  }

  /** Writes again what is still needed of an old journal file. */
  carry(place: JournalPlace): void {
    for (const request of this.#open.values())
      if (request.place === place) this.#admitAgain(request);
  }

  /**
   * Moves the request's final to this epoch. The journal has that before Redis may know of it, so that this process or the next one settles it where
   * its hold is. Returns false when the request has ended or the journal cannot record it.
   */
  moveTo(hold: OpenHold, epoch: string): boolean {
    const request = this.#open.get(hold.rid);
    if (!request) return false;
    if (hold.epoch !== epoch) {
      hold.epoch = epoch;
      this.#admitAgain(request);
      this.#journal.flush();
    }
    return this.#journal.isWritable;
  }

  /** The journal has the run when this returns. */
  noteRun(hold: OpenHold, run: BackgroundRun): void {
    hold.background = run;
    const request = this.#open.get(hold.rid);
    if (!request) return;
    this.#admitAgain(request);
    this.#journal.flush();
  }

  #admitAgain(request: OpenRequest): void {
    const { place, hold, counts } = request;
    request.place = this.#journal.appendLive(admittedLine(hold));
    if (counts) this.#journal.append(countsLine(this.#now(), { [hold.rid]: counts }));
    this.#journal.release(place);
  }
}
