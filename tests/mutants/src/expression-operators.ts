import type { Expression, Node, SourceFile } from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';
import { sqlChanges } from './sql-operators.ts';

interface ExpressionChange {
  operator: string;
  /** Is the text that replaces the expression. */
  text: string;
}

const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '&&': ['||'],
  '||': ['&&'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '+=': ['-='],
  '-=': ['+='],
};
/** Maps functions to those with which they are easily confused, by the last name of what is called. */
const NEIGHBOURS: Readonly<Record<string, string>> = {
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  divideCeil: 'divideFloor',
  divideFloor: 'divideCeil',
  some: 'every',
  every: 'some',
};

/** Returns false where a choice between two expressions cannot be put: what is assigned to or called, a name, a link of an optional chain. */
export function canBeWrapped(node: Node): boolean {
  const { parent } = node;
  if (is.isIdentifier(node) && !isValue(node, parent)) return false;
  if (is.isBinaryExpression(parent) && parent.left === node)
    return !/^(?:[-+*/%&|^]|\*\*|&&|\|\||\?\?)?=$/.test(parent.operatorToken.getText());
  if (is.isPostfixUnaryExpression(parent) || is.isDeleteExpression(parent)) return false;
  if (is.isPropertyAssignment(parent) && parent.name === node) return false;
  if (is.isLiteralTypeNode(parent) || is.isEnumMember(parent)) return false;
  if (!isHead(node, parent)) return true;
  return !is.isPropertyAccessExpression(node) && !node.getText().includes('?.');
}

/** Returns true for the part of `head.x`, `head[x]`, `head!` and `head()` that the rest hangs on. */
function isHead(node: Node, parent: Node): boolean {
  return (
    (is.isCallExpression(parent) ||
      is.isPropertyAccessExpression(parent) ||
      is.isElementAccessExpression(parent) ||
      is.isNonNullExpression(parent)) &&
    parent.expression === node
  );
}

function isValue(node: Node, parent: Node): boolean {
  if (is.isPropertyAccessExpression(parent)) return false;
  if (is.isCallExpression(parent)) return parent.expression !== node;
  if (is.isPropertyAssignment(parent)) return parent.initializer === node;
  if (is.isVariableDeclaration(parent)) return parent.initializer === node;
  return (
    is.isBinaryExpression(parent) ||
    is.isTemplateSpan(parent) ||
    is.isArrayLiteralExpression(parent) ||
    is.isConditionalExpression(parent) ||
    is.isReturnStatement(parent) ||
    is.isElementAccessExpression(parent)
  );
}

export function expressionChanges(node: Node, file: SourceFile): ExpressionChange[] {
  const changes = [...conditionChanges(node), ...ownChanges(node, file)];
  return changes.map(([operator, text]) => ({ operator, text }));
}

type Named = readonly [operator: string, text: string];

function conditionChanges(node: Node): Named[] {
  const { parent } = node;
  const decides =
    (is.isIfStatement(parent) && parent.expression === node) ||
    (is.isConditionalExpression(parent) && parent.condition === node);
  return decides
    ? [
        ['condition always', 'true'],
        ['condition never', 'false'],
      ]
    : [];
}

function ownChanges(node: Node, file: SourceFile): Named[] {
  const text = node.getText(file);
  if (is.isBinaryExpression(node)) {
    const operator = node.operatorToken.getText(file);
    if (operator === '??')
      return [
        ['?? to its left', node.left.getText(file)],
        ['?? to its right', node.right.getText(file)],
      ];
    return (OPERATORS[operator] ?? []).map((other) => [
      `${operator} to ${other}`,
      replaced(node, file, [[node.operatorToken, other]]),
    ]);
  }
  if (is.isPrefixUnaryExpression(node) && /^[!-]/.test(text))
    return [[`${text.slice(0, 1)} dropped`, node.operand.getText(file)]];
  // The linter refuses a promise that stands alone.
  if (is.isAwaitExpression(node))
    return is.isExpressionStatement(node.parent)
      ? []
      : [['await removed', node.expression.getText(file)]];
  if (is.isCallExpression(node))
    return [...neighbour(node, file), ...swaps(node, node.arguments, file)];
  if (is.isNewExpression(node)) return swaps(node, node.arguments ?? [], file);
  if (is.isArrayLiteralExpression(node)) return swaps(node, node.elements, file);
  if (is.isNumericLiteral(node) || is.isBigIntLiteral(node))
    return isFigureOfTable(node) ? [] : numberChanges(text);
  if (text === 'true' || text === 'false') return [['boolean swapped', String(text === 'false')]];
  return is.isStringLiteral(node) ||
    is.isNoSubstitutionTemplateLiteral(node) ||
    is.isTemplateExpression(node)
    ? sqlChanges(text)
    : [];
}

/** Returns true for a figure beside others in a table of the module: a test of one more or less would only repeat it. */
function isFigureOfTable(node: Node): boolean {
  let isInObject = false;
  for (let at = node.parent; !is.isSourceFile(at); at = at.parent) {
    if (is.isFunctionDeclaration(at) || is.isArrowFunction(at) || is.isMethodDeclaration(at))
      return false;
    isInObject ||= is.isObjectLiteralExpression(at);
  }
  return isInObject;
}

function numberChanges(text: string): Named[] {
  const [, digits = '', suffix = ''] = /^([\d_]+)(n?)$/.exec(text) ?? [];
  if (digits === '') return [];
  const value = BigInt(digits.replaceAll('_', ''));
  return [
    ['one more', `${value + 1n}${suffix}`],
    ['one less', value === 0n ? `(-1${suffix})` : `${value - 1n}${suffix}`],
  ];
}

function neighbour(node: Node & { expression: Expression }, file: SourceFile): Named[] {
  const callee = node.expression;
  const name = is.isPropertyAccessExpression(callee) ? callee.name : callee;
  const other = NEIGHBOURS[name.getText(file)];
  return other === undefined
    ? []
    : [[`${name.getText(file)} to ${other}`, replaced(node, file, [[name, other]])]];
}

/** Makes neighbours in a list change places. The compiler says which of them have the same type. */
function swaps(node: Node, list: readonly Node[], file: SourceFile): Named[] {
  if (
    /\b(?:min|max)\($/.test(
      node.getText(file).slice(0, (list[0]?.getStart(file) ?? 0) - node.getStart(file)),
    )
  )
    return [];
  return list.slice(1).flatMap((second, index): Named[] => {
    const first = list[index];
    if (!first || isLiteral(first) || isLiteral(second)) return [];
    const [a, b] = [first.getText(file), second.getText(file)];
    return a === b
      ? []
      : [
          [
            'swapped',
            replaced(node, file, [
              [first, b],
              [second, a],
            ]),
          ],
        ];
  });
}

/** It says what it is, and is not taken for its neighbour. */
function isLiteral(node: Node): boolean {
  return is.isArrowFunction(node) || is.isStringLiteral(node) || is.isObjectLiteralExpression(node);
}

/** Returns the text of a node in which parts, in their order, are replaced. */
function replaced(
  node: Node,
  file: SourceFile,
  parts: readonly (readonly [Node, string])[],
): string {
  const text = node.getText(file);
  const offset = node.getStart(file);
  let at = 0;
  let result = '';
  for (const [part, by] of parts) {
    result += text.slice(at, part.getStart(file) - offset) + by;
    at = part.end - offset;
  }
  return result + text.slice(at);
}
