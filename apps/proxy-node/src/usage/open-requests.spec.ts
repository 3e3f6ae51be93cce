import { beforeEach, expect, test } from '@jest/globals';
import { openHold } from '../../test/usage/holds.ts';
import { decodeLine } from '../journal/journal-line.ts';
import { OpenRequests } from './open-requests.ts';

let written: string[];
let released: number[];
let flushes: number;
let room: number;
let isWritable: boolean;
let requests: OpenRequests;

beforeEach(() => {
  [written, released, flushes, room, isWritable] = [[], [], 0, 0, true];
  requests = new OpenRequests(
    {
      append: (line) => void written.push(line),
      appendLive: (line) => written.push(line),
      flush: () => void (flushes += 1),
      keepRoom: () => void (room += 1),
      giveRoom: () => void (room -= 1),
      release: (place) => void released.push(place),
      get isWritable() {
        return isWritable;
      },
    },
    () => 1_000,
  );
});

/** Writes `A:<epoch>` for each admission, `C:<requests>` for each count. */
const story = (): string[] =>
  written.map((text) => {
    const line = decodeLine(text.trimEnd());
    if (line?.t === 'A') return `A:${line.hold.epoch}`;
    return line?.t === 'C' ? `C:${Object.keys(line.counts).length}` : 'unreadable';
  });

test('a request that ends gives its place and its room in the journal back once', () => {
  const hold = openHold();
  requests.admit(hold);
  expect([requests.size, room]).toEqual([1, 1]);
  expect([requests.end(hold.rid), requests.end(hold.rid)]).toEqual([1, undefined]);
  expect([requests.size, room]).toEqual([0, 0]);
});

test('a request is in the journal with its new epoch and its counts before its hold is restored there', () => {
  const hold = openHold();
  const { epoch } = hold;
  requests.admit(hold);
  requests.noteCounts({ [hold.rid]: { input: 1, output: 2 } });
  expect(requests.moveTo(hold, 'next')).toBe(true);
  expect(story()).toEqual([`A:${epoch}`, 'C:1', 'A:next', 'C:1']);
  expect([released, flushes, requests.end(hold.rid)]).toEqual([[1], 1, 3]);
});

test('a hold is not restored for a request that has ended, nor while the journal cannot record it', () => {
  const hold = openHold();
  requests.admit(hold);
  isWritable = false;
  expect(requests.moveTo(hold, 'next')).toBe(false);
  isWritable = true;
  requests.end(hold.rid);
  expect(requests.moveTo(hold, 'third')).toBe(false);
  expect(hold.epoch).toBe('next');
});

test('a journal that cannot be written collects no counts, and the last count is written with the request', () => {
  const hold = openHold();
  requests.admit(hold);
  isWritable = false;
  requests.noteCounts({ [hold.rid]: { input: 1, output: 2 } });
  requests.noteCounts({ [hold.rid]: { input: 1, output: 9 } });
  expect(written).toHaveLength(1);
  requests.carry(1);
  expect(written).toHaveLength(3);
  expect(written.at(-1)).toContain('"output":9');
});

test('only the requests of an old journal file are written again', () => {
  const [old, young] = [openHold(), openHold()];
  requests.admit(old);
  requests.admit(young);
  requests.carry(1);
  expect(decodeLine(written.at(-1)?.trimEnd() ?? '')).toMatchObject({
    t: 'A',
    hold: { rid: old.rid },
  });
  expect([written.length, released]).toEqual([3, [1]]);
});
