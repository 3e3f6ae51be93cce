import { readdirSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../checkout.ts';

export const CHART = path.join(ROOT, 'deploy/helm/tollgate');

/** Lists the values that the chart is rendered with: its defaults, and each file of `ci/`. */
export function valueTable(): { name: string; files: string[] }[] {
  const folder = path.join(CHART, 'ci');
  return [
    { name: 'defaults', files: [] },
    ...readdirSync(folder)
      .filter((name) => name.endsWith('-values.yaml'))
      .toSorted()
      .map((name) => ({ name, files: [path.join(folder, name)] })),
  ];
}
