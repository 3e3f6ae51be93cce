import { describe, expect, test } from '@jest/globals';
import { parse } from '../../test/read-ask.ts';

describe('media in a prompt', () => {
  test.each<[string, object]>([
    [
      'a screenshot',
      {
        type: 'computer_call_output',
        call_id: 'c',
        output: { type: 'computer_screenshot', image_url: 'https://a.example/b' },
      },
    ],
    ['a picture that the provider made', { type: 'image_generation_call', id: 'ig_1' }],
  ])('of a response count %s as an image', (_, item) => {
    const { imageCount, unboundedInputs } = parse('responses', {
      model: 'm',
      input: [item],
    }).prompt;
    expect({ imageCount, unboundedInputs }).toEqual({ imageCount: 1, unboundedInputs: 0 });
  });

  const LONG = 'a long text '.repeat(1_000);

  const sized = (part: object) =>
    parse('chat', { model: 'm', messages: [{ role: 'user', content: [part] }] }).prompt;

  test.each([
    { type: 'image_url', image_url: { url: 'https://x/y.png' } },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
    { type: 'image', source: { type: 'file', file_id: 'f' } },
    { type: 'input_image', file_id: 'f' },
  ])('an image counts as one wherever it lies: %j', (part) => {
    expect(sized(part)).toMatchObject({ imageCount: 1, unboundedInputs: 0 });
  });

  test.each([
    { type: 'file', file: { file_id: 'f' } },
    { type: 'file', file: { file_data: 'data:application/pdf;base64,AA' } },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AA' } },
    { type: 'image_url', image_url: { url: 'data:application/pdf;base64,AA' } },
    { type: 'video_url', video_url: { url: 'https://x/y.mp4' } },
    { type: 'input_audio', input_audio: { data: 'https://x/y.wav', format: 'wav' } },
    { type: 'hologram', at: { place: 'https://x/y.holo' } },
    { type: 'hologram', hologram: { file_id: 'f' } },
  ])('no byte of the request bounds %j', (part) => {
    expect(sized(part)).toMatchObject({ imageCount: 0, unboundedInputs: 1 });
  });

  const fetched = (source: object) => ({
    type: 'web_fetch_tool_result',
    tool_use_id: 't',
    content: { type: 'web_fetch_result', url: 'https://x', content: { type: 'document', source } },
  });

  test.each([
    [{ type: 'url', url: 'https://x/large.pdf' }, 1, 0],
    [{ type: 'base64', media_type: 'application/pdf', data: 'AA' }, 1, 0],
    [{ type: 'content', content: [{ type: 'image', source: { type: 'url', url: 'u' } }] }, 0, 1],
    [{ type: 'text', media_type: 'text/plain', data: LONG }, 0, 0],
  ])('what a provider fetched counts as what it is: %j', (source, unboundedInputs, imageCount) => {
    expect(sized(fetched(source))).toMatchObject({ unboundedInputs, imageCount });
  });

  const inline = (bytes: readonly number[]) => ({
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${Buffer.from(bytes).toString('base64')}` },
  });
  const JPEG = [0xff, 0xd8];
  const frame = (side: number) => [0xff, 0xc0, 0, 11, 8, 0, side, 0, side, 1, 1, 0x11, 0];

  test('the size of an image bounds it only where every reader sees the same', () => {
    const sizeOf = (bytes: readonly number[]) => sized(inline(bytes)).images[0]?.size;
    expect(sizeOf([...JPEG, 0xff, 0xe0, 0, 2, ...frame(9)])).toEqual({ width: 9, height: 9 });
    // This mark has no length: what follows it is read at once, and not skipped.
    expect(sizeOf([...JPEG, 0xff, 0x01, 0, 2, ...frame(9)])).toBeNull();
    expect(sizeOf([...JPEG, 0xff, 0xd0, 0, 2, ...frame(9)])).toBeNull();
    expect(sizeOf([...Buffer.from('GIF89a'), 9, 0, 9, 0, 0, 0, 0])).toBeNull();
    expect(sized({ type: 'image_url', image_url: { url: 'https://x' } }).images).toEqual([
      { size: null, detail: null },
    ]);
  });

  test('tools of vendors are named, and those of the client counted, wherever a request offers them', () => {
    const { ownTools, vendorTools } = parse('messages', {
      model: 'm',
      max_tokens: 1,
      messages: [{ role: 'user', content: 'hi' }],
      tools: [
        { name: 'mine', input_schema: {} },
        { type: 'custom', name: 'too', input_schema: {} },
        { type: 'bash_20250124', name: 'bash' },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
    }).prompt;
    expect({ ownTools, vendorTools }).toEqual({ ownTools: 2, vendorTools: ['bash', 'web_search'] });
  });

  test('inline audio is bounded by its bytes, which are not text', () => {
    const audio = { type: 'input_audio', input_audio: { data: 'A'.repeat(5_000), format: 'wav' } };
    const { otherBytes, textBytes, unboundedInputs, text } = sized(audio);
    expect(otherBytes).toBeGreaterThan(5_000);
    expect([unboundedInputs, textBytes < 100, text().includes('AAA')]).toEqual([0, true, false]);
  });

  test.each([
    { type: 'text', text: 'see https://x/y' },
    { type: 'tool_use', id: 't', name: 'f', input: { url: 'https://x' } },
    { type: 'web_search_tool_result', content: [{ type: 'web_search_result', url: 'https://x' }] },
    { type: 'new_part', x: 1 },
  ])('an address in a text is text: %j', (part) => {
    expect(sized(part).unboundedInputs).toBe(0);
  });
});
