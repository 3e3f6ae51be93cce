import { Module } from '@nestjs/common';
import { LiveStateModule } from '../live-state/live-state.module.ts';
import { KeyRevisions } from './key-revisions.ts';

@Module({ imports: [LiveStateModule], providers: [KeyRevisions], exports: [KeyRevisions] })
export class KeyRevisionsModule {}
