import { afterAll, beforeAll } from '@jest/globals';
import { startAnsweringNode, stopAnsweringNode } from './testing/answering-node.ts';
import './callers.part.spec.ts';
import './hostile-labels.part.spec.ts';
import './refused-requests.part.spec.ts';
import './small-answers.part.spec.ts';

beforeAll(startAnsweringNode);
afterAll(stopAnsweringNode);
