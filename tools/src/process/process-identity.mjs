import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Returns a text that distinguishes this run of a process from a later one with the same pid, or undefined when no such process runs.
 * On Linux it is boot id and start time (proc(5), field 22); on macOS it is the start time from ps. A zombie counts as gone: it holds nothing.
 * @param {number} pid
 * @returns {string | undefined}
 */
export function identityOf(pid) {
  if (!Number.isSafeInteger(pid) || pid < 1) return undefined;
  return process.platform === 'linux' ? linuxIdentity(pid) : psIdentity(pid);
}

/** @param {number} pid */
function linuxIdentity(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command in parentheses may hold spaces and parentheses itself; the fields after its last one are fixed.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot}:${fields[19]}`;
  } catch {
    return undefined;
  }
}

/** @param {number} pid */
function psIdentity(pid) {
  try {
    const [state, ...started] = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .trim()
      .split(/\s+/);
    return !state || state.startsWith('Z') ? undefined : started.join(' ');
  } catch {
    return undefined;
  }
}
