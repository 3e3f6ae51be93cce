/** Pauses of a second and more end on one, so that the work of an idle process is done in few turns, whose code is warm, and looks of one moment share a statement. */
export const BEAT_MS = 1_000;
/** A timer may fire that much before its moment. */
const EARLY_MS = 50;

interface Beat {
  timer: NodeJS.Timeout;
  runs: Set<() => void>;
}
const beats = new Map<number, Beat>();

/** The last beat before the end of a pause that begins now: a run that takes long does not make it longer. */
export function beatWithin(pauseMs: number): number {
  return Math.floor((performance.now() + pauseMs + EARLY_MS) / BEAT_MS) * BEAT_MS;
}

/** One timer for all that runs at a beat, so that it begins in one turn of the event loop. Returns what takes `run` back. */
export function atBeat(atMs: number, run: () => void): () => void {
  const beat = beats.get(atMs) ?? begin(atMs);
  beat.runs.add(run);
  return () => {
    beat.runs.delete(run);
    if (beat.runs.size > 0 || beats.get(atMs) !== beat) return;
    clearTimeout(beat.timer);
    beats.delete(atMs);
  };
}

function begin(atMs: number): Beat {
  const runs = new Set<() => void>();
  const act = (): void => {
    beats.delete(atMs);
    for (const run of runs) run();
  };
  const beat = { timer: setTimeout(act, atMs - performance.now()), runs };
  beats.set(atMs, beat);
  return beat;
}
