import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import {
  ACCOUNT_STEPS,
  accountStepsSchema,
  INSTALLATION_STEPS,
  installationStepsSchema,
} from './first-steps.ts';

@ApiTags('first steps')
@Controller()
export class FirstStepsController {
  constructor(private readonly dataSource: DataSource) {}

  @Get('first-steps')
  @Permission('user')
  @Answers('What a new account has done and what remains', accountStepsSchema)
  ofAccount(@FromCaller() { userId }: Caller) {
    return this.look(ACCOUNT_STEPS, [userId]);
  }

  @Get('admin/first-steps')
  @Permission('admin')
  @Answers('What a new installation has and what it lacks', installationStepsSchema)
  ofInstallation() {
    return this.look(INSTALLATION_STEPS, []);
  }

  private async look<Step extends string>(
    steps: Readonly<Record<Step, string>>,
    parameters: unknown[],
  ): Promise<{ is_complete: boolean; steps: { step: Step; is_done: boolean }[] }> {
    const names = Object.keys(steps) as Step[];
    const columns = names.map((name) => `(${steps[name]}) AS "${name}"`).join(', ');
    const [row]: Record<string, unknown>[] = await this.dataSource.query(
      `SELECT ${columns}`,
      parameters,
    );
    const done = names.map((step) => ({ step, is_done: row?.[step] === true }));
    return { is_complete: done.every(({ is_done: isDone }) => isDone), steps: done };
  }
}
