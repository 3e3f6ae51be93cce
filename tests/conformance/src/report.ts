import type { Replayed } from './conformance.ts';

/** Writes a line for each source, provider and protocol, then what failed and why. */
export function describeReplays(replays: readonly Replayed[]): string {
  const groups = Map.groupBy(replays, ({ recording }) =>
    [
      recording.source,
      recording.provider,
      `${recording.protocol} ${recording.isStream ? 'stream' : 'json'}`,
    ].join('\t'),
  );
  const lines = [...groups]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([group, members]) => [
      ...group.split('\t'),
      ...counts(members, 'same'),
      ...counts(members, 'translated'),
    ]);
  const failures = replays.flatMap(({ recording, way, failures: reasons }) =>
    reasons.map((reason) => `${recording.file} (${way}): ${reason}`),
  );
  const notes = replays.flatMap(({ recording, note }) =>
    note === null ? [] : [`${recording.file}: bytes only, its own SDK cannot read it: ${note}`],
  );
  const failed = replays.filter((replay) => replay.failures.length > 0).length;
  const header = [
    'source',
    'provider',
    'protocol',
    'same passed',
    'failed',
    'translated passed',
    'failed',
  ];
  return [
    table([header, ...lines]),
    ...notes,
    ...failures,
    `${replays.length - failed} passed, ${failed} failed`,
  ].join('\n');
}

function counts(members: readonly Replayed[], way: Replayed['way']): string[] {
  const ours = members.filter((replay) => replay.way === way);
  const passed = ours.filter(({ failures }) => failures.length === 0).length;
  return [String(passed), String(ours.length - passed)];
}

function table(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
