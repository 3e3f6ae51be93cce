import { takePart } from './kept.ts';
import './failing.part.spec.ts';

takePart('second');
