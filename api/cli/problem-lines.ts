// Errors in a file, one per line, in a format that editors understand.

interface Problem {
  readonly line: number
  readonly path: string
  readonly message: string
}

export function problemLines(file: string, problems: readonly Problem[]): string {
  return problems
    .map(({ line, path, message }) => `${file}:${line}: ${path === '' ? '' : `${path} `}${message}`)
    .join('\n')
}
