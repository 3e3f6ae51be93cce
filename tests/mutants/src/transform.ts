import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import swc from '@swc/jest';

/** Settings of the transformer. `swc`: those of the project; `file` is read from `text`. */
export interface Instrumented {
  swc: object;
  file: string;
  text: string;
}

type Transformer = ReturnType<typeof swc.createTransformer>;

/** Jest's transformer for TypeScript which reads one file from another place: its text with all mutants. */
export function createTransformer(settings: Instrumented): Partial<Transformer> {
  const compiler = swc.createTransformer(settings.swc) as Required<Transformer>;
  const text = readFileSync(settings.text, 'utf8');
  const read = (source: string, file: string): string => (file === settings.file ? text : source);
  return {
    process: (source, file, options) => compiler.process(read(source, file), file, options),
    getCacheKey: (source, file, options) =>
      createHash('sha256')
        .update(read(source, file))
        .update(compiler.getCacheKey(source, file, options))
        .digest('hex'),
  };
}

export default { createTransformer };
