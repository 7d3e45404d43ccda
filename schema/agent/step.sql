    SET @command = {{command}};
    SET @database = {{database}};
    EXEC msdb.dbo.sp_add_jobstep @job_id = @job_id, @step_name = N'{{step}}',
        @subsystem = N'{{subsystem}}', @command = @command, @database_name = @database,
        @on_success_action = {{then}}, @retry_attempts = {{retries}}, @retry_interval = 1,
        @flags = {{flags}};
