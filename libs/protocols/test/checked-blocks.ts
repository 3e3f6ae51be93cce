import { expect } from '@jest/globals';
import { jsonEvents } from './drive.ts';

interface Block {
  type: string;
  text?: string;
  input?: unknown;
  [key: string]: unknown;
}

/** Returns the content blocks of an Anthropic stream; on the way it checks that blocks never overlap and count up from 0 (behaviour 17). */
export function checkedBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let open: { index: number; block: Block; json: string } | null = null;
  for (const event of jsonEvents(text)) {
    if (event.type === 'content_block_start') {
      expect([open, event.index]).toEqual([null, blocks.length]);
      open = { index: event.index, block: { ...event.content_block }, json: '' };
    } else if (event.type === 'content_block_delta') {
      expect(open?.index).toBe(event.index);
      if (!open) continue;
      const { type, text: said, thinking, partial_json: json } = event.delta;
      expect(type).toBe(
        open.block.type === 'tool_use'
          ? 'input_json_delta'
          : open.block.type === 'thinking'
            ? 'thinking_delta'
            : 'text_delta',
      );
      open.block.text = (open.block.text ?? '') + (said ?? thinking ?? '');
      open.json += json ?? '';
    } else if (event.type === 'content_block_stop') {
      expect(open?.index).toBe(event.index);
      if (open) blocks.push(closed(open));
      open = null;
    }
  }
  expect(open).toBeNull();
  return blocks;
}

function closed({ block, json }: { block: Block; json: string }): Block {
  const { text, thinking: _, signature: __, ...rest } = block;
  return block.type === 'tool_use'
    ? { ...rest, input: JSON.parse(json) }
    : { type: block.type, text: text ?? '' };
}
