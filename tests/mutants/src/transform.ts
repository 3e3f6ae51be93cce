import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import swc from '@swc/jest';

/** Holds settings of the transformer. `swc` are those of the project; `texts` maps each instrumented file to the path that it is read from. */
export interface Instrumented {
  swc: object;
  texts: Readonly<Record<string, string>>;
}

type Transformer = ReturnType<typeof swc.createTransformer>;

/** Makes Jest's transformer for TypeScript, which reads some files from another place: their texts with all mutants. */
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
