import { createHash, timingSafeEqual } from 'node:crypto';

/** See https://prometheus.io/docs/instrumenting/exposition_formats/. */
const PROMETHEUS = 'text/plain; version=0.0.4; charset=utf-8';
/** See https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md. */
const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
/** No label value can look like an exemplar, because its quotes are escaped. */
const EXEMPLAR = / # \{\w+="[^"\\]*"(?:,\w+="[^"\\]*")*\} \S+ \S+$/;

export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

/** Joins the OpenMetrics texts of several processes: the samples of a metric follow each other, and its two description lines appear once. */
export function joinExpositions(texts: readonly string[]): string {
  const samplesOf = new Map<string, string[]>();
  for (const [description, samples] of texts.flatMap(familiesOf)) {
    const known = samplesOf.get(description);
    if (known) known.push(...samples);
    else samplesOf.set(description, samples);
  }
  return `${[...samplesOf].flatMap(([description, samples]) => [description, ...samples]).join('\n')}\n# EOF\n`;
}

/**
 * Converts an OpenMetrics text to the format that the scrape's `Accept` header asks for: the Prometheus format without exemplars, unless the header
 * names OpenMetrics.
 */
export function negotiate(accept: string | undefined, openMetrics: string): Exposition {
  if (accept?.includes('application/openmetrics-text'))
    return { contentType: OPEN_METRICS, text: openMetrics };
  const families = familiesOf(openMetrics).map(([description, samples]) => {
    const [help = '', type = ''] = description.split('\n');
    const isCounter = type.endsWith(' counter');
    return [
      ...(isCounter ? [suffixed(help), suffixed(type)] : [help, type]),
      ...samples.map((sample) => sample.replace(EXEMPLAR, '')),
    ].join('\n');
  });
  return { contentType: PROMETHEUS, text: `${families.join('\n\n')}\n` };
}

/** Returns whether an `Authorization` header presents this credential. A wrong credential takes the same time whatever it is. */
export function bears(authorization: string | undefined, credential: string): boolean {
  return timingSafeEqual(
    digest(authorization?.replace(/^Bearer +/i, '') ?? ''),
    digest(credential),
  );
}

function familiesOf(openMetrics: string): [description: string, samples: string[]][] {
  return openMetrics
    .replace(/# EOF\n?$/, '')
    .split(/^(?=# HELP )/m)
    .filter((family) => family.trim() !== '')
    .map((family) => {
      const [help = '', type = '', ...samples] = family.trimEnd().split('\n');
      return [`${help}\n${type}`, samples];
    });
}

/** Converts `# TYPE name counter` to the form of the Prometheus format: `# TYPE name_total counter`. */
function suffixed(line: string): string {
  return line.replace(/^(# \w+ \S+)/, '$1_total');
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
