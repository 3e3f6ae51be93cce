import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { boardJson } from '../src/deploy/board.ts';
import { BOARDS } from '../src/deploy/boards.ts';

const folder = path.join(import.meta.dirname, '../../deploy/grafana');
for (const board of BOARDS) writeFileSync(path.join(folder, `${board.uid}.json`), boardJson(board));
