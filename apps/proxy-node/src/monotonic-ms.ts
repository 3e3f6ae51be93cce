/**
 * Whole milliseconds of a clock that nothing sets: for durations, deadlines and ages inside this process. The wall clock (`Date.now`) may be set back
 * or forward at any time; it is for moments that leave the process, such as the start of a request.
 */
export function monotonicMs(): number {
  return Math.floor(performance.now());
}
