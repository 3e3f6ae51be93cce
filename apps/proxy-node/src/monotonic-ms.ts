/**
 * Returns whole milliseconds of a monotonic clock, for durations, deadlines and ages inside this process. The wall clock (`Date.now`) may be set at
 * any time; it is for times that leave the process, such as the start of a request.
 */
export function monotonicMs(): number {
  return Math.floor(performance.now());
}
