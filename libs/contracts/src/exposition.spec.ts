import { describe, expect, test } from '@jest/globals';
import { BoundedLabel } from './bounded-label.ts';
import { bears, joinExpositions, negotiate } from './exposition.ts';

const of = (worker: number): string => `# HELP requests Requests.
# TYPE requests counter
requests_total{worker="${worker}"} 3
# HELP seconds Seconds.
# TYPE seconds histogram
seconds_bucket{le="1",worker="${worker}"} 1 # {request_id="a-1"} 0.5 1763800000.1
seconds_sum{worker="${worker}"} 0.5
# EOF
`;

describe('expositions of several processes', () => {
  test('become one: each metric is described once, with the samples of all, and there is one end', () => {
    const text = joinExpositions([of(0), of(1)]);
    expect(text.match(/^# TYPE requests counter$/gm)).toHaveLength(1);
    expect(text.match(/^# TYPE seconds histogram$/gm)).toHaveLength(1);
    expect(text.match(/^requests_total\{worker="\d"\} 3$/gm)).toHaveLength(2);
    expect(text.match(/# EOF/g)).toHaveLength(1);
    expect(text.endsWith('\n# EOF\n')).toBe(true);
  });

  test('one alone stays what it is', () => {
    expect(joinExpositions([of(0)])).toBe(of(0));
  });
});

describe('the format of a scrape', () => {
  test('is OpenMetrics, with exemplars, where Accept names it', () => {
    const { contentType, text } = negotiate(
      'application/openmetrics-text;version=1.0.0,text/plain;q=0.5',
      of(0),
    );
    expect(contentType).toContain('application/openmetrics-text');
    expect(text).toBe(of(0));
  });

  test('is Prometheus text elsewhere: counters keep their suffix, exemplars are left out', () => {
    const { contentType, text } = negotiate('*/*', of(0));
    expect(contentType).toContain('text/plain; version=0.0.4');
    expect(text).toContain('# TYPE requests_total counter\nrequests_total{worker="0"} 3\n');
    expect(text).toContain('seconds_bucket{le="1",worker="0"} 1\n');
    expect(text).not.toContain('EOF');
  });

  test('a label value that looks like an exemplar is kept', () => {
    const odd = '# HELP a A.\n# TYPE a gauge\na{model="x # {request_id=\\"1\\"} 1"} 2\n# EOF\n';
    expect(negotiate(undefined, odd).text).toContain('a{model="x # {request_id=\\"1\\"} 1"} 2');
  });
});

test('a credential is presented as a bearer token, exactly', () => {
  expect(bears('Bearer abc', 'abc')).toBe(true);
  for (const wrong of [undefined, '', 'Bearer ', 'Bearer ab', 'Bearer abcd', 'Basic abc'])
    expect(bears(wrong, 'abc')).toBe(false);
});

test('a bounded label gives further values one name, and known ones always theirs', () => {
  const label = new BoundedLabel(2);
  expect(['a', 'b', 'c', 'a', 'd'].map((value) => label.of(value))).toEqual([
    'a',
    'b',
    '_other',
    'a',
    '_other',
  ]);
});
