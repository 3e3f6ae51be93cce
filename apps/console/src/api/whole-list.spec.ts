import { expect, test } from '@jest/globals';
import { readWholeList } from './whole-list.ts';

const listOf = (total: number) => {
  const asked: number[] = [];
  const read = async ({ page, page_size: size }: { page: number; page_size: number }) => {
    asked.push(page);
    const from = (page - 1) * size;
    const data = Array.from(
      { length: Math.max(0, Math.min(size, total - from)) },
      (_, i) => from + i,
    );
    return { data, total, has_more: page * size < total };
  };
  return { asked, read };
};

test.each([0, 1, 100, 101, 250])(
  'a list of %i rows is read to its end, each row once',
  async (total) => {
    const { data } = await readWholeList(listOf(total).read);
    expect(data).toEqual(Array.from({ length: total }, (_, index) => index));
  },
);

test('a list without end is read up to 2,000 rows, and says how many there are', async () => {
  const { asked, read } = listOf(100_000);
  const { data, total } = await readWholeList(read);
  expect(data).toHaveLength(2_000);
  expect(asked).toHaveLength(20);
  expect(total).toBe(100_000);
});
