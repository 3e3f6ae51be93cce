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
  stepsDone,
} from './first-steps.sql.ts';

@ApiTags('first steps')
@Controller()
export class FirstStepsController {
  constructor(private readonly dataSource: DataSource) {}

  @Get('first-steps')
  @Permission('user')
  @Answers('What a new account has done and what remains', accountStepsSchema)
  ofAccount(@FromCaller() { userId }: Caller) {
    return stepsDone(this.dataSource, ACCOUNT_STEPS, [userId]);
  }

  @Get('admin/first-steps')
  @Permission('admin')
  @Answers('What a new installation has and what it lacks', installationStepsSchema)
  ofInstallation() {
    return stepsDone(this.dataSource, INSTALLATION_STEPS, []);
  }
}
