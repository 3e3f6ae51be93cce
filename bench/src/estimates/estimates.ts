import {
  ESTIMATE_FAMILIES,
  estimateFamily,
  estimateOutput,
  estimatePrompt,
  NEUTRAL,
  type EstimateFamily,
  type PromptCounts,
} from '@tollgate/metering';
import { fitCoefficients, type Prior, type Sample } from './fit.ts';
import { readSamples, RECORDINGS, type Recorded } from './samples.ts';

/** Fewer recordings than this on either half say nothing of a family. */
const ENOUGH = 3;

const deviations = (...values: number[]): readonly number[] => values;
const PROMPT_DEVIATIONS = deviations(100, 3, 0.15, 150, 20, 0.5, 15, 0.3);
const OUTPUT_DEVIATIONS = deviations(5, 0.1, 25, 10);

/** Prints what the calibration half of the recordings gives as coefficients, and the errors of those in use on the other half. */
export async function benchEstimates(): Promise<void> {
  const samples = readSamples();
  if (samples.length === 0) throw new Error(`There are no recordings at ${RECORDINGS}.`);
  const families = [...ESTIMATE_FAMILIES, NEUTRAL];
  const lines = ['Coefficients that the calibration half gives:', ''];
  for (const family of ESTIMATE_FAMILIES) lines.push(fitted(family, samples));
  process.stdout.write(`${[...lines, '', ...errorTable(families, samples)].join('\n')}\n`);
  await Promise.resolve();
}

function fitted(family: EstimateFamily, samples: readonly Recorded[]): string {
  const own = samples.filter(
    ({ model, isCalibration }) => isCalibration && estimateFamily(model) === family,
  );
  const prompts = own.flatMap(({ prompt }): Sample[] =>
    prompt && prompt.counts.images.length + prompt.counts.pages === 0
      ? [{ features: promptFeatures(prompt.counts), tokens: prompt.tokens }]
      : [],
  );
  const outputs = own.flatMap(({ output }): Sample[] =>
    output
      ? [
          {
            features: [1, output.textTokens, output.calls, output.arguments],
            tokens: output.tokens,
          },
        ]
      : [],
  );
  const prompt = rounded(fitCoefficients(prompts, priorsOf(NEUTRAL.prompt, PROMPT_DEVIATIONS)));
  const output = rounded(fitCoefficients(outputs, priorsOf(NEUTRAL.output, OUTPUT_DEVIATIONS)));
  return `${family.name}: prompt [${prompt.join(', ')}], output [${output.join(', ')}]`;
}

function promptFeatures(counts: PromptCounts): number[] {
  const { messages, textTokens, tools, toolTokens, calls, callTokens } = counts;
  return [1, messages, textTokens, tools > 0 ? 1 : 0, tools, toolTokens, calls, callTokens];
}

function priorsOf(means: readonly number[], deviation: readonly number[]): Prior[] {
  return means.map((mean, at) => ({ mean, deviation: deviation[at] ?? 1 }));
}

function rounded(values: readonly number[]): number[] {
  return values.map((value) => Math.round(value * 100) / 100);
}

export interface Judged {
  kind: string;
  estimate: number;
  tokens: number;
}

/** Writes Markdown by family, on the half that did not calibrate. */
function errorTable(families: readonly EstimateFamily[], samples: readonly Recorded[]): string[] {
  const rows = families.map((family) => {
    const own = samples.filter(({ model }) => estimateFamily(model) === family);
    const judges = own.filter(({ isCalibration }) => !isCalibration);
    const calibrating = own.length - judges.length;
    return tableRow(
      family.name,
      calibrating,
      judges.flatMap((recorded) => judgedOf(family, recorded)),
    );
  });
  const all = samples
    .filter(({ isCalibration, model }) => !isCalibration && estimateFamily(model) !== NEUTRAL)
    .flatMap((recorded) => judgedOf(estimateFamily(recorded.model), recorded));
  return [
    '| Family | Calibrating | Prompts of text: n, median error | Prompts with tools, images, documents: n, median error | Outputs: n, error in sum |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    tableRow('all families', samples.filter(({ isCalibration }) => isCalibration).length, all),
    '',
    `Outputs of all recordings, in sum: chat ${sumCell(outputsOf('chat', samples))}; messages ${sumCell(outputsOf('messages', samples))}.`,
  ];
}

/** Returns what is charged in sum for the outputs of a protocol whose usage is not reported, and what was generated. */
export function outputsOf(protocol: Recorded['protocol'], samples: readonly Recorded[]): Judged[] {
  return samples
    .filter((each) => each.protocol === protocol)
    .flatMap((each) => judgedOf(estimateFamily(each.model), each))
    .filter(({ kind }) => kind === 'output');
}

function judgedOf(family: EstimateFamily, { prompt, output }: Recorded): Judged[] {
  return [
    ...(prompt
      ? [
          {
            kind: prompt.kind,
            estimate: estimatePrompt(family, prompt.counts),
            tokens: prompt.tokens,
          },
        ]
      : []),
    ...(output
      ? [{ kind: 'output', estimate: estimateOutput(family, output), tokens: output.tokens }]
      : []),
  ];
}

function tableRow(name: string, calibrating: number, judged: readonly Judged[]): string {
  const of = (kind: string): Judged[] => judged.filter((each) => each.kind === kind);
  return `| ${name} | ${calibrating} | ${medianCell(of('text'))} | ${medianCell(of('tools, images, documents'))} | ${sumCell(of('output'))} |`;
}

function medianCell(judged: readonly Judged[]): string {
  if (judged.length === 0) return 'none';
  const errors = judged
    .map(({ estimate, tokens }) => Math.abs(estimate / tokens - 1))
    .toSorted((one, other) => one - other);
  const middle = (errors.length - 1) / 2;
  const median = ((errors[Math.floor(middle)] ?? 0) + (errors[Math.ceil(middle)] ?? 0)) / 2;
  return `${judged.length}, ${percent(median)}${tooFew(judged)}`;
}

function sumCell(judged: readonly Judged[]): string {
  if (judged.length === 0) return 'none';
  return `${judged.length}, ${percent(errorInSum(judged))}${tooFew(judged)}`;
}

export function errorInSum(judged: readonly Judged[]): number {
  const sum = (of: (each: Judged) => number): number =>
    judged.reduce((total, each) => total + of(each), 0);
  return sum(({ estimate }) => estimate) / sum(({ tokens }) => tokens) - 1;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function tooFew(judged: readonly Judged[]): string {
  return judged.length < ENOUGH ? ' (too few)' : '';
}
