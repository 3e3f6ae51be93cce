export class ReleaseRefused extends Error {}

const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;
const UNRELEASED = '## Unreleased\n';

/** Describes a file and what the release makes of it. */
export interface FileChange {
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

/** Returns everything that a release changes in the repository: the version of every package and of the chart, and the changelog. Throws ReleaseRefused. */
export function releaseChanges(
  files: ReadonlyMap<string, string>,
  { version, date }: { version: string; date: string },
): FileChange[] {
  const current = versionOf(files.get('package.json') ?? '');
  // The packages have the number of the first release from the beginning.
  const isFirst = version === current && !isReleased(files.get('CHANGELOG.md') ?? '', version);
  if (!isFirst && !isLater(version, current))
    throw new ReleaseRefused(`${version} is not a version after ${current}, like 1.2.3.`);
  return [...files]
    .map(([file, before]) => ({ file, before, after: changed(file, before, { version, date }) }))
    .filter(({ before, after }) => before !== after);
}

function changed(
  file: string,
  text: string,
  { version, date }: { version: string; date: string },
): string {
  if (file === 'CHANGELOG.md') return releasedChangelog(text, { version, date });
  if (file.endsWith('Chart.yaml'))
    return text
      .replace(/^version: .*$/m, `version: ${version}`)
      .replace(/^appVersion: .*$/m, `appVersion: ${version}`);
  return text.replace(/^(  "version": )"[^"]*"/m, `$1"${version}"`);
}

function releasedChangelog(
  text: string,
  { version, date }: { version: string; date: string },
): string {
  const [head, rest] = text.split(UNRELEASED);
  const notes = rest?.split(/^## /m)[0]?.trim() ?? '';
  if (head === undefined || rest === undefined || notes === '')
    throw new ReleaseRefused('CHANGELOG.md has nothing under "Unreleased".');
  return `${head}${UNRELEASED}\n## ${version} - ${date}\n${rest}`;
}

function isReleased(changelog: string, version: string): boolean {
  return changelog.includes(`\n## ${version} - `);
}

function versionOf(manifest: string): string {
  return /^ {2}"version": "([^"]*)"/m.exec(manifest)?.[1] ?? '';
}

function isLater(version: string, current: string): boolean {
  const parts = (text: string): number[] => VERSION.exec(text)?.slice(1).map(Number) ?? [];
  const [asked, known] = [parts(version), parts(current)];
  if (asked.length === 0) return false;
  const at = asked.findIndex((part, index) => part !== known[index]);
  return at >= 0 && (asked[at] ?? 0) > (known[at] ?? 0);
}
