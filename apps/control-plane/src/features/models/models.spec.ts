import { shareModels } from './models-under-test.ts';
import './catalogue.part.spec.ts';
import './unpriced-models.part.spec.ts';
import './pricing.part.spec.ts';

shareModels();
