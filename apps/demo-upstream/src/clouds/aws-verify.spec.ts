import { expect, test } from '@jest/globals';
import { isSigned } from './aws-verify.ts';

/** The values are the published example and test suite of AWS: https://docs.aws.amazon.com/IAM/latest/UserGuide/signing-elements.html */
const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const FORM = 'application/x-www-form-urlencoded';
interface Vector {
  name: string;
  signature: string;
  method?: string;
  target?: string;
  host?: string;
  service?: string;
  type?: string;
  body?: string;
}
const VECTORS: readonly Vector[] = [
  {
    name: 'get-vanilla',
    signature: '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  },
  {
    name: 'get-vanilla-query-order-key-case',
    target: '/?Param2=value2&Param1=value1',
    signature: 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  },
  {
    name: 'post-vanilla',
    method: 'POST',
    signature: '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  },
  {
    name: 'post-x-www-form-urlencoded',
    method: 'POST',
    type: FORM,
    body: 'Param1=value1',
    signature: 'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  },
  {
    name: 'ListUsers of the guide',
    target: '/?Action=ListUsers&Version=2010-05-08',
    host: 'iam.amazonaws.com',
    service: 'iam',
    type: `${FORM}; charset=utf-8`,
    signature: '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  },
];

const requestOf = ({
  signature,
  method = 'GET',
  target = '/',
  host = 'example.amazonaws.com',
  service = 'service',
  type,
  body = '',
}: Partial<Vector>) => ({
  method,
  target,
  body,
  headers: {
    host,
    'x-amz-date': '20150830T123600Z',
    ...(type !== undefined && { 'content-type': type }),
    authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/${service}/aws4_request, SignedHeaders=${type === undefined ? '' : 'content-type;'}host;x-amz-date, Signature=${signature}`,
  },
});

test.each(VECTORS)('the double accepts the published signature of $name', (vector) => {
  expect(isSigned(requestOf(vector), SECRET)).toBe(true);
});

test.each([
  ['another body', { body: 'x' }],
  ['another path', { target: '/x' }],
  ['another host', { host: 'other.amazonaws.com' }],
])('it refuses the signature of a request with %s', (_, change) => {
  expect(isSigned(requestOf({ ...VECTORS[2], ...change }), SECRET)).toBe(false);
});
