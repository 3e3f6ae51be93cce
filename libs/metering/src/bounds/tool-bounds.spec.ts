import { expect, test } from '@jest/globals';
import { TOOL_BOUNDS, toolTokens } from './tool-bounds.ts';

// Figures come from the vendor's pages or from a recorded report.
test.each([
  ['computer', 735 + 499],
  ['bash', 245],
  ['text_editor', 700],
  ['memory', 1_577],
  ['tool_search', 1_595],
])('the bound of the tool %s covers the %i tokens that are known of it', (tool, known) => {
  expect(toolTokens([tool])).toBeGreaterThanOrEqual(known);
});

test('the tools of a request add up, and one that is unknown counts as the largest of the table', () => {
  const largest = Math.max(...TOOL_BOUNDS.map(({ tokens }) => tokens));
  expect(toolTokens([])).toBe(0);
  expect(toolTokens(['bash', 'bash', 'memory'])).toBe(350 + 350 + 2_000);
  expect(toolTokens(['bash', 'a_tool_of_tomorrow'])).toBe(350 + largest);
});
