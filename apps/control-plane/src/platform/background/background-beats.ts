/**
 * Pauses of one second or more end at a common beat. The work of an idle process then runs in few turns, with warm code, and checks of the same
 * moment share a statement.
 */
export const BEAT_MS = 1_000;
/** A timer may fire this much before its time. */
const EARLY_MS = 50;

interface Beat {
  timer: NodeJS.Timeout;
  runs: Set<() => void>;
}
const beats = new Map<number, Beat>();

/** Returns the time until the last beat before a pause that begins now ends, so that a long run does not lengthen the pause. */
export function beatWithin(pauseMs: number): number {
  return Math.floor((performance.now() + pauseMs + EARLY_MS) / BEAT_MS) * BEAT_MS;
}

/** Runs `run` at a beat; all runs of one beat share one timer and one turn of the event loop. Returns a function that cancels the run. */
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
