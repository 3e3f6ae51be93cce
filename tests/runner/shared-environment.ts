import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

type TimersOf = ConstructorParameters<typeof ModernFakeTimers>[0];

/** Returns the timers that `jest.spyOn` restores a second time when the suite ends. A spy that was set over faked timers would restore a faked one. */
const timersOfProcess = () => ({
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
  setImmediate,
  clearImmediate,
  Date,
});

/** Is the environment of a suite with shared modules: the globals of the worker's process. What the suite changes in them is restored at its end. */
export default class SharedEnvironment {
  readonly global = globalThis;
  readonly moduleMocker = new ModuleMocker(globalThis);
  readonly fakeTimersModern: ModernFakeTimers;
  private readonly before = {
    variables: { ...process.env },
    folder: process.cwd(),
    console: globalThis.console,
    exit: process.exit,
    timers: timersOfProcess(),
  };

  constructor({ projectConfig }: { projectConfig: TimersOf['config'] }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  /** Jest calls it. There is nothing to set up. */
  async setup(): Promise<void> {}

  async teardown(): Promise<void> {
    const { variables, folder, console, exit, timers } = this.before;
    this.fakeTimersModern.dispose();
    for (const name of Object.keys(process.env)) {
      if (!(name in variables)) Reflect.deleteProperty(process.env, name);
    }
    Object.assign(process.env, variables);
    process.chdir(folder);
    process.exit = exit;
    Object.assign(globalThis, { console, ...timers });
  }

  /** Returns null, so that the suite runs in the context of the process. */
  getVmContext(): null {
    return null;
  }
}
