import type { Node, SourceFile } from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';
import { canBeWrapped, expressionChanges } from './expression-operators.ts';
import type { Change } from './mutant.ts';

type ChangeOfSite = Omit<Change, 'start' | 'end'>;

/** Answers the other ids of the same kind that are in reach at a node. A wrong one is a mistake that types seldom find. */
export type OtherIds = (node: Node) => readonly string[];

const LOGS = /(^|\.)(log|logger|console)\.\w+$/;
const REMOVED_PROPERTY: ChangeOfSite = {
  form: 'property',
  operator: 'property removed',
  text: '',
};

/** Returns every change that the operators make to a file. Some of them do not compile. */
export function changesOf(file: SourceFile, otherIds: OtherIds): Change[] {
  const changes: Change[] = [];
  const visit = (node: Node): void => {
    if (is.isTypeNode(node) || hasNoBehaviour(node)) return;
    const site = { start: node.getStart(file), end: node.end };
    for (const change of changesAt(node, file, otherIds)) changes.push({ ...change, ...site });
    node.forEachChild(visit);
  };
  file.forEachChild(visit);
  return changes;
}

function hasNoBehaviour(node: Node): boolean {
  if (is.isImportDeclaration(node) || is.isExportDeclaration(node) || is.isDecorator(node))
    return true;
  if (is.isInterfaceDeclaration(node) || is.isTypeAliasDeclaration(node)) return true;
  // The words of an error and of the log are for people.
  if (is.isNewExpression(node)) return node.expression.getText().endsWith('Error');
  return is.isCallExpression(node) && LOGS.test(node.expression.getText());
}

function changesAt(node: Node, file: SourceFile, otherIds: OtherIds): readonly ChangeOfSite[] {
  if (is.isStatement(node)) return statementChanges(node);
  if (is.isPropertyAssignment(node) || is.isSpreadAssignment(node)) return [REMOVED_PROPERTY];
  if (is.isShorthandPropertyAssignment(node))
    return [
      REMOVED_PROPERTY,
      ...otherIds(node.name).map((text): ChangeOfSite => ({
        form: 'shorthand',
        operator: 'another id',
        text,
      })),
    ];
  if (!canBeWrapped(node)) return [];
  const changes = expressionChanges(node, file);
  const ids = otherIds(node).map((text) => ({ operator: 'another id', text }));
  return [...changes, ...ids].map((change) => ({ form: 'expression', ...change }));
}

function statementChanges(node: Node): readonly ChangeOfSite[] {
  if (is.isReturnStatement(node)) {
    if (node.expression?.getText() === 'undefined') return [];
    return [
      { form: 'statement', operator: 'return removed', text: node.expression ? 'return;' : ';' },
    ];
  }
  const isRemovable = is.isExpressionStatement(node)
    ? !hasNoBehaviour(node.expression) && !node.getText().startsWith('super(')
    : is.isThrowStatement(node) || is.isContinueStatement(node) || is.isBreakStatement(node);
  return isRemovable ? [{ form: 'statement', operator: 'statement removed', text: ';' }] : [];
}
