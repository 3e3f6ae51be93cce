/** Identifies the file of a live line. `release` returns it when the line no longer matters. */
export type JournalPlace = number;

/** Counts the live lines of each file of a journal, oldest file first. */
export class LivePlaces {
  readonly #lines = new Map<JournalPlace, number>();

  get size(): number {
    return this.#lines.size;
  }

  get oldest(): { place: JournalPlace; lines: number } | undefined {
    const [first] = this.#lines;
    return first && { place: first[0], lines: first[1] };
  }

  begin(place: JournalPlace): void {
    this.#lines.set(place, 0);
  }

  forget(place: JournalPlace): void {
    this.#lines.delete(place);
  }

  note(place: JournalPlace): JournalPlace {
    this.#lines.set(place, (this.#lines.get(place) ?? 0) + 1);
    return place;
  }

  release(place: JournalPlace): void {
    const lines = this.#lines.get(place);
    if (lines !== undefined) this.#lines.set(place, lines - 1);
  }

  /** Returns files before `current` without live lines in them or before them, so that an acknowledgement never disappears before its final. */
  deadBefore(current: JournalPlace): JournalPlace[] {
    const places = [...this.#lines];
    const end = places.findIndex(([place, lines]) => lines > 0 || place >= current);
    return places.slice(0, end < 0 ? places.length : end).map(([place]) => place);
  }
}
