// Splits a file of devices into parts of the size that the service accepts, each with the header if it is CSV.

export interface BulkPart {
  readonly text: string
  readonly rows: number
}

/** Errors are left for the service to report, with the row. A file without devices is one part. */
export function bulkParts(text: string, format: 'csv' | 'ndjson', rowsMax: number): readonly BulkPart[] {
  const records = format === 'csv' ? csvRecords(text) : text.split('\n')
  const filled = records.filter((record) => record.trim() !== '')
  const [header, rows] = format === 'csv' ? [filled.slice(0, 1), filled.slice(1)] : [[], filled]
  if (rows.length <= rowsMax) return [{ text, rows: rows.length }]
  return Array.from({ length: Math.ceil(rows.length / rowsMax) }, (_, part) => {
    const some = rows.slice(part * rowsMax, (part + 1) * rowsMax)
    return { text: [...header, ...some].join('\n'), rows: some.length }
  })
}

/** A quoted field may hold line breaks. */
function csvRecords(text: string): readonly string[] {
  const records: string[] = []
  let begin = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '"') isQuoted = !isQuoted
    if (isQuoted || (char !== '\n' && char !== '\r')) continue
    records.push(text.slice(begin, at))
    begin = at + 1
  }
  return [...records, text.slice(begin)]
}
