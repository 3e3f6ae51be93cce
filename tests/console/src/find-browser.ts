import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Finds a browser of this machine: what CHROMIUM names, else the distribution's own. */
export function findBrowser(): string | undefined {
  const { CHROMIUM } = process.env;
  return [...(CHROMIUM ? [CHROMIUM] : []), ...PLACES].find((file) => existsSync(file));
}

/** Installs Debian's chromium, where this process may. Returns why not otherwise. */
export function installBrowser(): string | undefined {
  if (process.platform !== 'linux' || !existsSync('/etc/debian_version'))
    return 'this is not a Debian or Ubuntu';
  if (process.getuid?.() !== 0) return 'only root may install packages';
  try {
    const stdio = ['ignore', 'ignore', 'inherit'] as const;
    execFileSync('apt-get', ['update'], { stdio: [...stdio] });
    execFileSync(
      'apt-get',
      ['install', '-y', '--no-install-recommends', 'chromium', 'fonts-liberation'],
      { stdio: [...stdio], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } },
    );
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
