import { globSync } from 'node:fs';

/** Describes code that moves money, and where the specs that judge it are. */
export interface Area {
  name: string;
  /** Is the folder of the TypeScript project. */
  project: string;
  /** Holds globs from the root of the repository. */
  files: readonly string[];
  /** Lists folders: each spec below them that imports a file, over other files too, judges it. */
  specs: readonly string[];
}

const CONTROL_PLANE = 'apps/control-plane';
const FEATURES = `${CONTROL_PLANE}/src/features`;
const SUBSCRIPTIONS = `${FEATURES}/subscriptions`;
const USAGE = `${FEATURES}/usage`;
const INGEST = `${USAGE}/ingest`;
const NODE = 'apps/proxy-node';

export const AREAS: readonly Area[] = [
  {
    name: 'money',
    project: 'libs/money',
    files: ['libs/money/src/**/*.ts'],
    specs: ['libs/money', 'libs/metering'],
  },
  {
    name: 'metering',
    project: 'libs/metering',
    files: [
      'libs/metering/src/*{charge,credibility,price,usage,plan,rate,image}*.ts',
      'libs/metering/src/bounds/*.ts',
      'libs/metering/src/estimates/{argument-counter,estimate}.ts',
    ],
    specs: ['libs/metering'],
  },
  {
    name: 'token ledger',
    project: CONTROL_PLANE,
    files: [`${SUBSCRIPTIONS}/token-{ledger,lots,movement}*.ts`],
    specs: [SUBSCRIPTIONS, INGEST],
  },
  {
    name: 'purchases',
    project: CONTROL_PLANE,
    files: [
      `${SUBSCRIPTIONS}/purchases*.ts`,
      `${FEATURES}/models/prices-in-force*.ts`,
      `${FEATURES}/wallet/ledger.service.ts`,
    ],
    specs: [SUBSCRIPTIONS, `${FEATURES}/wallet`, `${FEATURES}/reconciliation`],
  },
  {
    name: 'withdrawals',
    project: CONTROL_PLANE,
    files: [`${SUBSCRIPTIONS}/withdrawal*.ts`],
    specs: [SUBSCRIPTIONS, INGEST, `${FEATURES}/reconciliation`, `${FEATURES}/models`],
  },
  {
    name: 'late usage',
    project: CONTROL_PLANE,
    files: [`${INGEST}/late-usage*.ts`],
    specs: [INGEST, `${USAGE}/journal`],
  },
  {
    name: 'ingest',
    project: CONTROL_PLANE,
    files: [`${INGEST}/*.ts`],
    specs: [USAGE, `${CONTROL_PLANE}/src/ops`],
  },
  {
    name: 'journal',
    project: NODE,
    files: [`${NODE}/src/journal/**/*.ts`],
    specs: [`${NODE}/src/journal`, `${NODE}/src/usage`],
  },
  {
    name: 'settling',
    project: NODE,
    files: [`${NODE}/src/usage/settling/**/*.ts`],
    specs: [`${NODE}/src/usage`],
  },
];

/** Lists the product files of an area. A file that an earlier area has is not listed again. */
export function filesOf(root: string, area: Area): string[] {
  const before = AREAS.slice(0, AREAS.indexOf(area)).flatMap(({ files }) => files);
  const listed = (globs: readonly string[]): string[] =>
    globSync([...globs], { cwd: root }).filter(
      (file) => !/\.spec\.ts$|under-test|index\.ts$/.test(file),
    );
  const taken = new Set(listed(before));
  return listed(area.files)
    .filter((file) => !taken.has(file))
    .toSorted();
}
