// Errors in a file, one per line, in a format that editors understand.

import type { Problem } from '../../engine/edge/config/yaml-file.ts'

export function problemLines(file: string, problems: readonly Problem[]): string {
  return problems
    .map(({ line, path, message }) => `${file}:${line}: ${path === '' ? '' : `${path} `}${message}`)
    .join('\n')
}
