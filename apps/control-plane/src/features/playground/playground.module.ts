import { Module } from '@nestjs/common';
import { KeysModule } from '../keys/keys.module.ts';
import { PlaygroundController } from './playground.controller.ts';

@Module({ imports: [KeysModule], controllers: [PlaygroundController] })
export class PlaygroundModule {}
