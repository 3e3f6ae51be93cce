/** The simulation reads these past the stores: names of keys, and the text of the functions. */
export {
  OF_NODES,
  readFunctionSource,
  readLua,
  type FunctionName,
} from '../src/functions/function-source.ts';
export { keys } from '../src/keys.ts';
