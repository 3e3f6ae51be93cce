import { Module } from '@nestjs/common';
import { FirstStepsController } from './first-steps.controller.ts';

@Module({ controllers: [FirstStepsController] })
export class FirstStepsModule {}
