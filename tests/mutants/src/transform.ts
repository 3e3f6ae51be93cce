import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import swc from '@swc/jest';

/** Settings of the transformer. `swc`: those of the project; `texts`: the path that each instrumented file is read from. */
export interface Instrumented {
  swc: object;
  texts: Readonly<Record<string, string>>;
}

type Transformer = ReturnType<typeof swc.createTransformer>;

/** Jest's transformer for TypeScript which reads some files from another place: their texts with all mutants. */
export function createTransformer(settings: Instrumented): Partial<Transformer> {
  const compiler = swc.createTransformer(settings.swc) as Required<Transformer>;
  const read = (source: string, file: string): string => {
    const text = settings.texts[file];
    return text === undefined ? source : readFileSync(text, 'utf8');
  };
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
