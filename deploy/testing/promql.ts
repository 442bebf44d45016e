// Finds the metrics in a PromQL expression. A name followed by a bracket is a function or a grouping.

const WORDS = new Set(['and', 'or', 'unless', 'offset', 'bool', 'on', 'ignoring', 'by', 'without'])

export function metricsOf(expr: string): readonly string[] {
  const bare = expr
    .replace(/"(?:\\.|[^"\\])*"/g, '')
    .replace(/\{[^}]*\}/g, ' ')
    .replace(/\[[^\]]*\]/g, ' ')
    .replace(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ')
    .replace(/\boffset\s+\w+/g, ' ')
  return [...bare.matchAll(/(?<![\w.])[a-zA-Z_:][\w:]*\b(?!\s*\()/g)]
    .map(([name]) => name)
    .filter((name) => !WORDS.has(name))
}
