/* Submits a job to Sweetspot, waits for its end, and fails when its verdict is bad. Needs SQL Server
   2025 or Azure SQL, the option 'external rest endpoint enabled' and the permission
   EXECUTE ANY EXTERNAL ENDPOINT. */
SET NOCOUNT ON;
DECLARE @api nvarchar(4000) = N'{{url}}/v1/jobs';
DECLARE @definition nvarchar(max) = N'{{definition}}';
DECLARE @headers nvarchar(4000) = N'{"Idempotency-Key":"{{key}}-$(ESCAPE_SQUOTE(STEPID))"}';
DECLARE @until datetime2 = DATEADD(minute, {{minutes}}, SYSUTCDATETIME()); /* clocks that are put forward end nothing */
DECLARE @asked datetime2, @url nvarchar(4000), @status int, @answer nvarchar(max), @state nvarchar(20), @text nvarchar(2000);

EXEC @status = sys.sp_invoke_external_rest_endpoint @url = @api, @method = N'POST', @timeout = 60,
    @headers = @headers, @payload = @definition{{credential}}, @response = @answer OUTPUT;
IF @status <> 0
BEGIN
    SET @text = LEFT(N'Sweetspot did not take the job: ' + CAST(@status AS nvarchar(12)) + N' ' + ISNULL(@answer, N''), 2000);
    RAISERROR(N'%s', 16, 1, @text);
    RETURN;
END;

/* The job itself is asked for until it has ended: that is 200 each time, whereas an answer of 408
   might be an error here. An answer that does not come is asked for again. */
SET @url = @api + N'/' + JSON_VALUE(@answer, N'$.result.id');
SET @headers = N'{"Prefer":"wait=60"}';
SET @state = N'queued';
WHILE @state IN (N'queued', N'waiting', N'running') AND SYSUTCDATETIME() < @until
BEGIN
    SET @answer = NULL;
    SET @asked = SYSUTCDATETIME();
    BEGIN TRY
        EXEC @status = sys.sp_invoke_external_rest_endpoint @url = @url, @method = N'GET', @timeout = 90,
            @headers = @headers{{credential}}, @response = @answer OUTPUT;
    END TRY
    BEGIN CATCH
        SET @status = -1;
        PRINT ERROR_MESSAGE();
    END CATCH;
    IF @status = 0
        SET @state = JSON_VALUE(@answer, N'$.result.state');
    ELSE IF @status NOT IN (-1, 429, 502, 503, 504)
        SET @state = N'unknown';
    /* answered at once: not now, or too many wait there already */
    IF @state IN (N'queued', N'waiting', N'running') AND SYSUTCDATETIME() < DATEADD(second, 5, @asked)
        WAITFOR DELAY '00:00:05';
END;

SET @text = ISNULL(@state, N'unknown') + N': '
    + COALESCE(JSON_VALUE(@answer, N'$.result.summary'), JSON_VALUE(@answer, N'$.result.error.message'), N'no summary');
SET @url = @url + N'/verdict';
BEGIN TRY
    EXEC @status = sys.sp_invoke_external_rest_endpoint @url = @url, @method = N'GET', @timeout = 60{{credential}},
        @response = @answer OUTPUT;
END TRY
BEGIN CATCH
    SET @status = -1;
    PRINT ERROR_MESSAGE();
END CATCH;
IF @status = 0
    PRINT @text;
ELSE
BEGIN
    SET @text = LEFT(N'The verdict is not good (' + CAST(@status AS nvarchar(12)) + N'). The job: ' + @text
        + ISNULL(N' ' + JSON_VALUE(@answer, N'$.result.detail'), N''), 2000);
    RAISERROR(N'%s', 16, 1, @text);
END;
