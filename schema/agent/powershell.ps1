# Submits a job to Sweetspot, waits for its verdict, and throws when it is bad. For SQL Server Agent
# a dollar sign before a parenthesis begins a token, so there are none but its own.
$ErrorActionPreference = 'Stop'
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor 3072 # TLS 1.2
[Net.ServicePointManager]::Expect100Continue = $false
$api = '{{url}}'
$key = '{{key}}-$(ESCAPE_SQUOTE(STEPID))'
$tokenFile = '{{token_file}}'
$definition = '{{definition}}'

$token = ''
if ($tokenFile) {
    $token = [IO.File]::ReadAllText($tokenFile).Trim() -replace '^Authorization: *Bearer +', ''
}

# Status and text of the answer; status 0 when there was none.
function Send-Once($method, $path, $body) {
    $request = [Net.WebRequest]::Create($api + $path)
    $request.Method = $method
    $request.Timeout = 90000
    if ($token) { $request.Headers.Add('Authorization', 'Bearer ' + $token) }
    try {
        if ($body) {
            $bytes = [Text.Encoding]::UTF8.GetBytes($body)
            $request.Headers.Add('Idempotency-Key', $key)
            $request.ContentType = 'application/json'
            $request.ContentLength = $bytes.Length
            $stream = $request.GetRequestStream()
            $stream.Write($bytes, 0, $bytes.Length)
            $stream.Close()
        }
        $answer = $request.GetResponse()
    } catch {
        $problem = $_.Exception
        while ($problem.InnerException -and -not ($problem -is [Net.WebException])) {
            $problem = $problem.InnerException
        }
        if (-not ($problem -is [Net.WebException])) { throw }
        if (-not $problem.Response) { return @{ Status = 0; Text = $problem.Message } }
        $answer = $problem.Response
    }
    $reader = New-Object IO.StreamReader($answer.GetResponseStream(), [Text.Encoding]::UTF8)
    $text = $reader.ReadToEnd()
    $reader.Close()
    return @{ Status = [int]$answer.StatusCode; Text = $text }
}

# Again while it is to be asked again, for so many minutes.
function Send-Patiently($method, $path, $body, $minutes) {
    $until = [DateTime]::UtcNow.AddMinutes($minutes)
    do {
        $asked = [DateTime]::UtcNow
        $answer = Send-Once $method $path $body
        $again = (0, 408, 429, 502, 503, 504) -contains $answer.Status -and [DateTime]::UtcNow -lt $until
        # answered at once: not now, or too many wait there already
        if ($again -and [DateTime]::UtcNow -lt $asked.AddSeconds(5)) { Start-Sleep -Seconds 5 }
    } while ($again)
    return $answer
}

$answer = Send-Patiently 'POST' '/v1/jobs' $definition 5
if ((200, 202) -notcontains $answer.Status) {
    throw 'Sweetspot did not take the job: ' + $answer.Status + ' ' + $answer.Text
}
$answer = Send-Patiently 'GET' ('/v1/verdict?wait=60&key=' + $key) $null {{minutes}}
if ($answer.Status -ne 200) {
    throw 'The verdict is not good: ' + $answer.Status + ' ' + $answer.Text
}
Write-Output $answer.Text
